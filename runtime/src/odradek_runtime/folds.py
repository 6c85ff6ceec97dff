"""The contract of a stateful processor: state that is a fold over topics, one fold a partition.

The processor owns all I/O. It restores a fresh fold from its changelog, then feeds it what arrives and commits what
comes out, with the positions of the inputs, in one transaction. Folds are synchronous and never see Kafka. When a
commit fails the fold is thrown away and a new one is restored: a fold need not undo anything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from odradek_runtime.measures import Measures
from odradek_runtime.records import Outputs, Record
from odradek_schemas.codec import Envelope, RecordError
from odradek_schemas.events import Event


class Fold(Protocol):
    """The state of one partition, and the decisions made on it."""

    def restore(self, event: Event, offset: int) -> None:
        """Take in one changelog record, in log order. Must not cause outputs."""

    def restored(self) -> Outputs:
        """All of the changelog is in: finish (re-run harnesses, re-arm timers). Outputs go into the first commit."""

    def begin(self, position: int, now: datetime) -> None:
        """A cycle begins. What it writes to the changelog will lie at `position` or later; `now` is its time."""

    def accept(self, event: Event, record: Record | None) -> Outputs:
        """Decide on one event. `record` is None for what did not come from an input topic (posted events, control)."""

    def reject(self, record: Record, error: RecordError) -> Outputs:
        """Decide on a record that can't be read: a typed failure for whoever waits for it. Its headers are known."""

    def fire(self, now: datetime) -> Outputs:
        """Fire the timers that are due."""

    def next_timer(self) -> datetime | None:
        """When `fire` must be called next; None: no timer is armed."""

    def wants(self, topic: str) -> bool:
        """Whether more records of input `topic` are wanted now; False pauses it (back-pressure)."""

    def restore_point(self) -> int | None:
        """The changelog offset that a restore must begin at; None: nothing before now is needed.

        Asked only of processors that keep a restore point (`StatefulProcessor.anchor`).
        """

    def close(self) -> None:
        """The fold is not used any more (partition lost, failed commit, shutdown): drop coroutines, cancel jobs."""


Post = Callable[[Event], None]
"""Give the fold an event that comes from no topic (a job's result). Callable from the event loop's thread only;
the event is accepted in a later cycle with `record` None, and lost when the worker dies: the fold, restored, must
start the job again."""


@dataclass(frozen=True)
class FoldContext:
    """What a new fold is told: its partition, how many there are, and how to post events to itself.

    `homes`: among how many of them runs are dealt (`partitioning.Layout`).
    """

    partition: int
    partitions: int
    homes: int
    post: Post


def everything(topic: str, envelope: Envelope) -> bool:
    """Wants all records of all inputs."""
    return True


@dataclass(frozen=True)
class StatefulProcessor:
    """A stateful processor: which topics a worker's folds read, write their changelog to, and restore from.

    `anchor` is the input topic whose committed metadata carries the restore point (the changelog is then read from
    there); None: the changelog is compacted and read from its beginning. `wanted` tells by a record's headers whether
    it is decoded at all: what is not wanted is passed by, readable or not. `measures`: the metrics of
    this kind of worker.
    """

    name: str
    inputs: tuple[str, ...]
    changelog: str
    create: Callable[[FoldContext], Fold]
    anchor: str | None = None
    max_cycle_records: int = 2000
    wanted: Callable[[str, Envelope], bool] = everything
    measures: Measures | None = None
