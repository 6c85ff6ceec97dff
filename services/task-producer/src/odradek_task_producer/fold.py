"""The task-producer's fold: a plan of the runs that its partition owns, and a count of the rewards in it.

They are one fold because the ledger's partition may have one writer only. Every output is handed out by `fire`,
which the processor calls at the end of each cycle, so that each thing is written once a cycle.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from odradek_runtime.logs import get_logger
from odradek_runtime.records import Outputs, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import (
    Event,
    RewardAssigned,
    RunCountRecorded,
    RunCountReleased,
    RunPlanRecorded,
    RunSumRecorded,
)
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.topics import REWARDS, RUNS
from odradek_task_producer.count import Count
from odradek_task_producer.plan import Plan

log = get_logger(__name__)


class Companion(Protocol):
    """Something that runs beside a fold for as long as the fold is used."""

    def start(self) -> None: ...

    def close(self) -> None: ...


class ProducerFold:
    """The state of one partition of the task-producer."""

    def __init__(self, plan: Plan, count: Count, companions: Sequence[Companion] = ()) -> None:
        self._plan = plan
        self._count = count
        self._companions = companions
        self._position = 0
        self._now = datetime.min

    def restore(self, event: Event, offset: int) -> None:
        if isinstance(event, RunCountRecorded):
            self._count.restore(event)
        elif isinstance(event, RunPlanRecorded | RunSumRecorded):
            self._plan.restore(event)

    def restored(self) -> Outputs:
        self._plan.restored()
        for companion in self._companions:
            companion.start()
        return []

    def begin(self, position: int, now: datetime) -> None:
        self._position, self._now = position, now

    def accept(self, event: Event, record: Record | None) -> Outputs:
        if isinstance(event, RewardAssigned):
            self._count.accept(event)
        elif isinstance(event, RunCountReleased):
            self._count.release(event.run_id)
        else:
            self._plan.accept(event, self._now)
        return []

    def reject(self, record: Record, error: RecordError) -> Outputs:
        envelope = record.envelope
        log.error("a record can't be read", reason=str(error), run_id=envelope.run_id)
        if envelope.run_id is None:
            return []
        if record.topic == RUNS.name:
            self._plan.accept_unreadable(envelope.type, envelope.run_id, str(error), self._now)
        elif record.topic == REWARDS.name and envelope.rollout_id and envelope.scoring == PRIMARY_SCORING:
            self._count.accept_unreadable(envelope.run_id)
        return []

    def fire(self, now: datetime) -> Outputs:
        return [*self._count.drain(self._position, now), *self._plan.drain(self._position, now)]

    def next_timer(self) -> datetime | None:
        return self._plan.next_timer()

    def wants(self, topic: str) -> bool:
        return True

    def restore_point(self) -> int | None:
        return None

    def close(self) -> None:
        self._plan.close()
        for companion in self._companions:
            companion.close()
