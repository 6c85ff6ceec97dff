"""Models as the command line names them: in `odradek.toml`, and as `NAME=URL[,model=ID][,key=VARIABLE][,...]`."""

import os
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from odradek.models import ConfigError, ModelSettings, read_config
from odradek.models.config import FILE
from odradek.toml_files import say_problem
from odradek_cli.errors import CliError, Exit

_OPTIONS = {"model": "model", "key": "api_key_env", "tool_calls": "tool_calls", "preset": "preset"}


def configured_models(path: Path | None) -> dict[str, ModelSettings]:
    """The models of the file; of `odradek.toml` in this folder, if there is one, where none is named.

    Raises:
        CliError: it does not read so, or the variable of a key is not set.
    """
    if path is None:
        path = Path(FILE)
        if not path.is_file():
            return {}
    try:
        return read_config(path, os.environ)
    except ConfigError as error:
        raise CliError(str(error), Exit.USAGE, "docs/models.md shows what the file may say") from error


def parse_model(text: str) -> tuple[str, ModelSettings]:
    """The model's name, and how it is reached.

    Raises:
        CliError: it does not read so, or the key's variable is not set.
    """
    name, _, rest = text.partition("=")
    url, *options = rest.split(",")
    if not re.fullmatch(r"[A-Za-z0-9][\w.:/-]*", name):
        raise _bad(text, "expected NAME=URL")
    given: dict[str, Any] = {"base_url": url, "model": name}
    for option in options:
        key, separator, value = option.partition("=")
        if key not in _OPTIONS or not separator or not value:
            raise _bad(text, f"{option!r} is none of {', '.join(f'{known}=' for known in _OPTIONS)}")
        given[_OPTIONS[key]] = value
    return name, _checked(text, given)


def _checked(text: str, given: dict[str, Any]) -> ModelSettings:
    try:
        model = ModelSettings.model_validate(given)
        model.key(os.environ)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise _bad(text, say_problem(dict(problem))) from error
    except ValueError as error:
        raise _bad(text, str(error)) from error
    return model


def _bad(text: str, why: str) -> CliError:
    return CliError(
        f"--model {text}: {why}",
        Exit.USAGE,
        "for example --model gpt=https://api.openai.com/v1,preset=openai,model=gpt-5-mini",
    )
