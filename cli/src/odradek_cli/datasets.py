"""Data sets as files: JSONL, one task a line, checked row by row before anything starts."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from pydantic_core import from_json

from odradek.environment import Environment
from odradek.rows import RowError
from odradek_cli.errors import CliError, Exit
from odradek_schemas.events import BadRow


@dataclass(frozen=True)
class Checked:
    """A data set cut to what is used, the number of its rows, and what is wrong with each bad one."""

    content: bytes
    rows: int
    bad: tuple[BadRow, ...]


def read_file(path: Path) -> bytes:
    """The content of a data set.

    Raises:
        CliError: it can't be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise CliError(f"data set {path}: {error.strerror}", Exit.INVALID_INPUT) from error


def check_rows(environment: Environment, content: bytes, limit: int | None = None) -> Checked:
    """Let `environment` split each row; blank lines are no rows, and rows after the first `limit` are cut off."""
    lines: list[bytes] = []
    bad: list[BadRow] = []
    named: dict[str, int] = {}
    rows = 0
    for number, line in enumerate(BytesIO(content), 1):
        if line.strip():
            if rows == limit:
                break
            rows += 1
            bad.extend(_problem(environment, number, line, named))
        lines.append(line)
    return Checked(b"".join(lines), rows, tuple(bad))


def _problem(environment: Environment, number: int, line: bytes, named: dict[str, int]) -> Iterator[BadRow]:
    """What is wrong with a row; `named`: by the ids of the rows before it, their lines."""
    try:
        row = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        yield BadRow(line=number, field="", reason=f"is not JSON: {error}")
        return
    if not isinstance(row, dict):
        yield BadRow(line=number, field="", reason=f"must be a JSON object, is {type(row).__name__}")
        return
    try:
        name = environment.split(row).id
        if name is not None and named.setdefault(name, number) != number:
            yield BadRow(line=number, field="id", reason=f"{name!r} is the id of line {named[name]} already")
    except RowError as error:
        yield BadRow(line=number, field=error.field, reason=error.reason)
    except Exception as error:  # noqa: BLE001 - the environment's own code: its failure is the row's report
        yield BadRow(line=number, field="", reason=f"{environment.name}.split failed: {error!r}")
