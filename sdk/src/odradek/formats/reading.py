"""Reading a file of rollouts, whatever it is in."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic_core import from_json

from odradek.environment import Environment
from odradek.formats import atif, nemo_gym, own, parquet
from odradek.formats.foreign import Source, Tasks, asked
from odradek.formats.lines import read_lines
from odradek.formats.records import BadRecord, Format, Record
from odradek_schemas.base import JsonObject

_MOST_NAME_CHARACTERS = 60

Reader = Callable[[JsonObject, Source, int], Record]

_READERS: dict[Format, Reader] = {
    Format.ODRADEK: lambda row, _source, line: own.read(row, line),
    Format.NEMO_GYM: nemo_gym.read,
    Format.ATIF: atif.read,
}


def read_records(
    path: Path,
    format: Format | None = None,
    environment: Environment | None = None,
    tasks: Tasks | None = None,
) -> Iterator[Record]:
    """The rollouts of a file, one after the other: each its trajectory, its recorded rewards and its answer.

    Args:
        format: what the file is in; None: each row is looked at.
        environment: whose rollouts they are, for rows of other programs: it reads their tasks and answers.
        tasks: the tasks, where the rows do not bring them along, or where their answers were sealed for others.

    Raises:
        OSError: the file can't be read.
        BadRecord: a row can't be used.
    """
    for _line, found in scan_records(path, format, environment, tasks):
        if isinstance(found, BadRecord):
            raise found
        yield found


def scan_records(
    path: Path,
    format: Format | None = None,
    environment: Environment | None = None,
    tasks: Tasks | None = None,
) -> Iterator[tuple[int, Record | BadRecord]]:
    """The same, with the number of each line, and in the place of a row that can't be used what is wrong with it."""
    if path.is_dir() or path.suffix == ".parquet":
        for number, found in parquet.read_rows(path):
            yield number, found if isinstance(found, BadRecord) else _answered(found, tasks)
        return
    source = Source(path.name, _run_id(path), environment, tasks)
    for line, row in _rows(path):
        yield line, row if isinstance(row, BadRecord) else _read(row, format, source, line)


def format_of(row: JsonObject) -> Format | None:
    """What a row is in; None: in nothing that is known here."""
    if "trajectory" in row:
        return Format.ODRADEK
    if "responses_create_params" in row:
        return Format.NEMO_GYM
    return Format.ATIF if "schema_version" in row and "steps" in row else None


def _rows(path: Path) -> Iterator[tuple[int, JsonObject | BadRecord]]:
    """Lines of JSON. A whole file of one indented object (as ATIF's often are) counts as one line."""
    if path.suffix == ".json":
        return iter([(1, _document(path))])
    return read_lines(path)


def _document(path: Path) -> JsonObject | BadRecord:
    try:
        value = from_json(path.read_bytes())
    except ValueError as error:
        return BadRecord(1, "", f"is not JSON: {error}")
    return value if isinstance(value, dict) else BadRecord(1, "", "must be a JSON object")


def _read(row: JsonObject, format: Format | None, source: Source, line: int) -> Record | BadRecord:
    found = format or format_of(row)
    reader = _READERS.get(found) if found is not None else None
    if reader is None:
        return BadRecord(line, "", f"is none of {', '.join(_READERS)}")
    try:
        return _answered(reader(row, source, line), tasks=source.tasks)
    except BadRecord as error:
        return error


def _answered(record: Record, tasks: Tasks | None) -> Record:
    """The record with its task's answer in the clear, where the data set has it: one that is sealed opens elsewhere."""
    trajectory = record.trajectory
    if tasks is None or record.answer is not None or trajectory.sealed_answer is None:
        return record
    found = tasks.by_text.get(asked(trajectory.messages[: trajectory.prompt_messages]))
    return record if found is None else record._replace(answer=found[1].answer)


def _run_id(path: Path) -> str:
    """A run's id for rollouts that name none: the file's name, as far as an id may hold it."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", path.name.partition(".")[0])[:_MOST_NAME_CHARACTERS]
    return name if name[:1].isalnum() else f"file-{name}"
