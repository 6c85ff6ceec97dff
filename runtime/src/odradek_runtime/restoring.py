"""Feeding a changelog to a new fold or handler."""

from collections.abc import Awaitable, Callable

from odradek_runtime.errors import WorkerError
from odradek_runtime.folds import Fold
from odradek_runtime.handlers import Handler
from odradek_runtime.intake import Intake
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event

Restore = Callable[[list[RawRecord]], Awaitable[None]]
"""Takes in records of a changelog, in order."""


def restore_fold(fold: Fold, changelog: str, intake: Intake) -> Restore:
    """How `fold` takes in its changelog. Tombstones say nothing to a fold."""

    async def restore(records: list[RawRecord]) -> None:
        for raw in records:
            if raw.value is not None:
                fold.restore(await _event(changelog, raw, intake), raw.offset)

    return restore


def restore_handler(handler: Handler, changelog: str | None, intake: Intake) -> Restore:
    """How `handler` takes in its changelog, if it has one."""

    async def restore(records: list[RawRecord]) -> None:
        assert changelog is not None
        for raw in records:
            event = None if raw.value is None else await _event(changelog, raw, intake)
            handler.restore((raw.key or b"").decode(), event)

    return restore


async def _event(changelog: str, raw: RawRecord, intake: Intake) -> Event:
    """A changelog is written by its own reader: a record in it that can't be read stops the worker."""
    record, error = intake.open(changelog, raw)
    try:
        if error is not None:
            raise error
        return await intake.read(record)
    except RecordError as problem:
        raise WorkerError(f"the changelog can't be restored: {problem}") from problem
