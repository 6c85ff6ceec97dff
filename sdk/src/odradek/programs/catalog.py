"""Where programs are found: a folder of manifests, installed packages, and those that come with Odradek.

The folder is the one that `ODRADEK_PROGRAMS_DIR` names; a manifest there goes before another of the same name.
"""

import os
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from pydantic import ValidationError

from odradek.programs.manifest import Program
from odradek.toml_files import TomlError, read_toml, say_problem

GROUP = "odradek.programs"
FOLDER = "ODRADEK_PROGRAMS_DIR"
SHIPPED = Path(__file__).parent / "shipped"


class ProgramError(Exception):
    """A manifest can't be used. A line for each mistake: where, and what is wrong."""


class UnknownProgram(ProgramError):
    """No manifest of that name is there."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(
            f"no program {name!r}; there are: {', '.join(known)}. "
            f"Put a manifest {name}.toml into the folder that {FOLDER} names."
        )


def read_program(path: Path) -> Program:
    """The program of a manifest.

    Raises:
        ProgramError: the file can't be read, is not TOML, or says what no manifest may.
    """
    try:
        return Program.model_validate({**read_toml(path), "folder": path.resolve().parent})
    except TomlError as error:
        raise ProgramError(str(error)) from error
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        told = "\n".join(f"{path}: {say_problem(dict(problem))}" for problem in problems)
        raise ProgramError(told) from error


def is_manifest(path: Path) -> bool:
    """Whether a TOML file means to be a program's manifest."""
    try:
        return "dialect" in read_toml(path)
    except TomlError:
        return False


def find_program(name: str, environment: Mapping[str, str] = os.environ) -> Program:
    """The program called `name`.

    Raises:
        UnknownProgram: there is none.
        ProgramError: there is one, but it can't be used.
    """
    for folder in _folders(environment)[:-1]:
        if (path := _files(folder).get(name)) is not None:
            return _named(read_program(path), name, str(path))
    for point in entry_points(group=GROUP, name=name):
        return _named(_loaded(point), name, point.value)
    if (path := _files(SHIPPED).get(name)) is not None:
        return read_program(path)
    raise UnknownProgram(name, program_names(environment))


def program_names(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The names of all programs that can be found."""
    files = {name for folder in _folders(environment) for name in _files(folder)}
    return sorted(files | set(entry_points(group=GROUP).names))


def _folders(environment: Mapping[str, str]) -> list[Path]:
    own = environment.get(FOLDER)
    return [Path(own), SHIPPED] if own else [SHIPPED]


def _files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def _loaded(point: EntryPoint) -> Program:
    try:
        found = point.load()
    except Exception as error:
        raise ProgramError(f"{point.value} ({GROUP}: {point.name}) does not load: {error}") from error
    if not isinstance(found, Program):
        raise ProgramError(f"{point.value} ({GROUP}: {point.name}) is no Program")
    return found


def _named(program: Program, name: str, where: str) -> Program:
    if program.name != name:
        raise ProgramError(f"{where}: name: is {program.name!r}, but it is found as {name!r}; let them agree")
    return program
