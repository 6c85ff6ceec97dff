"""TOML files that people write: read, and their mistakes told in a line each."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class TomlError(Exception):
    """A file can't be read. One line: which, and why."""


def read_toml(path: Path) -> dict[str, Any]:
    """What a file holds. Raises TomlError."""
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise TomlError(f"{path} can't be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{path} is not TOML: {error}") from error


def say_problem(problem: Mapping[str, Any]) -> str:
    """A mistake in one line: the dotted path to it, and what is wrong."""
    where = ".".join(map(str, problem["loc"])) or "the file"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"
