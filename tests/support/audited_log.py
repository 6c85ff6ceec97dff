"""A healthy log as the audit reads it, and ways to damage it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import orjson

from odradek.audit import AuditReport, LogRecord, Place, RunAudit
from odradek_schemas.events import RunFinished, RunRequested
from tests.support.played_run import Troubles, play_run

Body = dict[str, Any]


@dataclass(frozen=True)
class AuditedLog:
    """A run's records, all partitions, in the order in which they were written; and its last words."""

    requested: RunRequested
    records: tuple[LogRecord, ...]
    finished: tuple[tuple[Place, RunFinished], ...]
    purged: tuple[str, ...] = ()

    def audit(self) -> AuditReport:
        audit = RunAudit(self.requested, self.finished, self.purged)
        for partition in sorted({record.place.partition for record in self.records}):
            for record in self.records:
                if record.place.partition == partition:
                    audit.take(record)
            audit.end_partition()
        return audit.report()

    def of(self, kind: str, wanted: Callable[[Body], object] = lambda body: True) -> Iterator[LogRecord]:
        """Records of a type, the first ones first."""
        return (r for r in self.records if r.type == kind and wanted(orjson.loads(r.value)))

    def first(self, kind: str, wanted: Callable[[Body], object] = lambda body: True) -> LogRecord:
        return next(self.of(kind, wanted))

    def rollout(self, rollout_id: str, kind: str) -> LogRecord:
        return next(record for record in self.of(kind) if record.rollout_id == rollout_id)

    def without(self, *dropped: LogRecord) -> "AuditedLog":
        return replace(self, records=tuple(record for record in self.records if record not in dropped))

    def put(self, old: LogRecord, *new: LogRecord) -> "AuditedLog":
        """`new` in the place of `old`."""
        at = self.records.index(old)
        return replace(self, records=(*self.records[:at], *new, *self.records[at + 1 :]))

    def late(self, *more: LogRecord) -> "AuditedLog":
        """More records at the end."""
        return replace(self, records=(*self.records, *more))

    def again(self, record: LogRecord, further: int = 0, **changes: Any) -> LogRecord:
        """A copy of `record` at the end of its partition."""
        topic, partition, _ = record.place
        ends = [r.place.offset for r in self.records if r.place[:2] == (topic, partition)]
        return record._replace(place=Place(topic, partition, max(ends) + 1 + further), **changes)

    def ended(self, *finished: RunFinished) -> "AuditedLog":
        places = [Place("runs", 0, 1 + number) for number in range(len(finished))]
        return replace(self, finished=tuple(zip(places, finished, strict=True)))


def altered(record: LogRecord, change: Callable[[Body], object]) -> LogRecord:
    """The record with another content; `change` works on the parsed value."""
    body = orjson.loads(record.value)
    change(body)
    return record._replace(value=orjson.dumps(body))


def swapped(log: AuditedLog, one: LogRecord, other: LogRecord) -> AuditedLog:
    """Two records of a partition with each other's places."""
    moved = {one: other._replace(place=one.place), other: one._replace(place=other.place)}
    return replace(log, records=tuple(moved.get(record, record) for record in log.records))


@cache
def healthy_log(
    seed: int = 0,
    troubled: bool = True,
    cancelled: bool = False,
    poisoned: bool = False,
    programs: bool = False,
) -> AuditedLog:
    """The log of a run of 24 rollouts.

    `troubled`: with failures, late answers and crashes. `poisoned`: with garbage in the names of its rollouts.
    `programs`: with rollouts that a program plays.
    """
    troubles = Troubles()
    if troubled:
        troubles = Troubles(model_fails=12, tool_breaks=8, answer_is_late=25, worker_dies=9)
    if cancelled:
        troubles = replace(troubles, cancelled_after=5)
    if poisoned:
        troubles = replace(troubles, poison=15)
    run = play_run(seed, tasks=8, samples=3, troubles=troubles, programs=programs)
    records = tuple(record for number in range(len(run.partitions)) for record in run.records(number))
    return AuditedLog(run.requested, records, ((run.finished_at, run.finished),))
