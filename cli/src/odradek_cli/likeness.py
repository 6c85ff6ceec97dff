"""Whether two runs played the same tasks: the same environment, and row by row the same data set."""

import asyncio
from pathlib import Path
from urllib.parse import unquote, urlsplit

from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Log
from odradek_cli.runs import Run
from odradek_cli.summary import task_number
from odradek_cli.task_fields import load_tasks
from odradek_runtime.blobs import BlobError, reference_of
from odradek_schemas.events import Dataset, RunImported

_ANYWAY = "--different-tasks compares them by the tasks' numbers anyway"


async def check_alike(log: Log, a: Run, b: Run) -> None:
    """Check that tasks of the same number are the same tasks. One run may have played more of them.

    Raises:
        CliError: they are not, or a data set can't be read any more and so it can't be told.
    """
    if a.id == b.id:
        return
    environments = a.request.environment, b.request.environment
    if environments[0] != environments[1]:
        raise _unlike(f"{a.id} is of {environments[0]}, {b.id} of {environments[1]}")
    if a.request.dataset.uri == b.request.dataset.uri:
        return
    if isinstance(a.request, RunImported) or isinstance(b.request, RunImported):
        row = await _first_other_task(log, a, b)
    else:
        row = first_difference(await _content(log, a), await _content(log, b))
    if row is not None:
        raise _unlike(
            f"task {row} of {a.id} ({a.request.dataset.name}) is another one in {b.id} ({b.request.dataset.name})"
        )


def first_difference(a: bytes, b: bytes) -> int | None:
    """The number of the first task that two data sets have and do not agree on; blank lines are no tasks."""
    rows = zip(_rows(a), _rows(b), strict=False)
    return next((number for number, (one, other) in enumerate(rows) if one != other), None)


async def _first_other_task(log: Log, a: Run, b: Run) -> int | None:
    """The same by the tasks in the trajectories: the file of an imported run holds rollouts."""
    one, other = [
        {task_number(task): fields for task, fields in (await load_tasks(log, run)).items()} for run in (a, b)
    ]
    return next(
        (number for number in sorted(one.keys() & other.keys()) if one[number] != other[number]), None
    )


def _rows(content: bytes) -> list[bytes]:
    return [line.strip() for line in content.split(b"\n") if line.strip()]


async def _content(log: Log, run: Run) -> bytes:
    try:
        return await _read(log, run.request.dataset)
    except (BlobError, OSError) as error:
        raise _unlike(
            f"whether the tasks are the same can't be told: the data set of {run.id}: {error}"
        ) from error


async def _read(log: Log, dataset: Dataset) -> bytes:
    reference = reference_of(dataset.uri)
    if reference is not None:
        return await log.blob(reference)
    return await asyncio.to_thread(Path(unquote(urlsplit(dataset.uri).path)).read_bytes)


def _unlike(why: str) -> CliError:
    return CliError(why, Exit.INVALID_INPUT, _ANYWAY)
