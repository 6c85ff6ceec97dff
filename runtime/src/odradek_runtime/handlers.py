"""The contract of a concurrent processor: many records in flight at once, each handled on its own.

The processor calls `handle` for up to `max_in_flight` records of a partition at a time (one after another for those
of the same rollout, where the processor is `ordered`), and commits the outputs of finished ones in transactions. A restart hands out again only records
whose outputs were not committed. When a commit fails the handler is closed and a new one is created and restored.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from odradek_runtime.measures import Measures
from odradek_runtime.records import Outputs, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event


class Handler(Protocol):
    """The work of one partition."""

    def restore(self, key: str, event: Event | None) -> None:
        """Take in one changelog record, in log order; None is a tombstone. Never called without a changelog."""

    async def handle(self, event: Event, record: Record) -> Outputs:
        """Do the work; what is returned is committed. Must end within deadlines of its own.

        An exception that escapes is a bug of the handler: it is logged and ends the worker.
        """

    def reject(self, record: Record, error: RecordError) -> Outputs:
        """Decide on a record that can't be read: a typed failure for whoever waits for it. Its headers are known."""

    def control(self, event: Event) -> None:
        """An event of the `control` topic: nobody waits any more for a cancelled run, a policy has a new version."""

    async def close(self) -> None:
        """The handler is not used any more: its `handle` calls have ended or were cancelled."""


@dataclass(frozen=True)
class HandlerContext:
    """What a new handler is told, and what it may ask for.

    `commit`: commit outputs in the middle of `handle`, apart from those that it will return; the record stays
    unfinished. It returns when their transaction is committed, a cycle later. If the owner is fenced, loses its number
    or is closed before that, it is cancelled and never returns: whether they were committed the next owner finds out.
    """

    partition: int
    partitions: int
    commit: Callable[[Outputs], Awaitable[None]]


@dataclass(frozen=True)
class ConcurrentProcessor:
    """A concurrent processor: which topics a worker's handlers read, and their changelog if they keep state.

    `ordered`: records of one rollout are handled one after another, in log order. `measures`: the metrics of this kind
    of worker.
    """

    name: str
    inputs: tuple[str, ...]
    create: Callable[[HandlerContext], Handler]
    changelog: str | None = None
    ordered: bool = False
    max_in_flight: int = 256
    measures: Measures | None = None
