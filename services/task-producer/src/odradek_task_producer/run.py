"""One run as its owner knows it (pure)."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from operator import add
from typing import NamedTuple

from odradek_schemas.events import (
    BadRow,
    RunCounts,
    RunFinished,
    RunPlanRecorded,
    RunProgressed,
    RunRequested,
    RunStatus,
    RunSumRecorded,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_task_producer.admission import room
from odradek_task_producer.loading import Job
from odradek_task_producer.tasks import Tasks

Told = tuple[int, int, int]
"""Planned, admitted and finished rollouts, as last published."""


class Load(NamedTuple):
    """Unfinished runs, rollouts of theirs that wait to be admitted, and admitted ones without a reward."""

    runs: int
    waiting: int
    unfinished: int


@dataclass
class Run:
    """An unfinished run: what was asked, how far its plan is carried out, and what each partition counted."""

    request: RunRequested
    started_at: datetime
    planned: int | None = None
    admitted: int = 0
    demand: int | None = None
    cancelled: str | None = None
    cancelled_at: datetime | None = None
    failure: Failure | None = None
    rejected: bool = False
    bad_rows: list[BadRow] = field(default_factory=list)
    sums: dict[int, RunCounts] = field(default_factory=dict)
    finished: int = 0
    job: Job | None = None
    tasks: Tasks | None = None
    told: Told | None = None
    told_at: datetime | None = None
    plan_changed: bool = True
    sums_changed: set[int] = field(default_factory=set)

    @classmethod
    def restored(cls, plan: RunPlanRecorded, sums: dict[int, RunCounts]) -> "Run":
        """The run as the ledger has it."""
        return cls(
            request=plan.request,
            started_at=plan.started_at,
            planned=plan.planned,
            admitted=plan.admitted,
            demand=plan.demand,
            cancelled=plan.cancelled,
            cancelled_at=None if plan.cancelled is None else plan.time,
            failure=plan.failure,
            sums=sums,
            finished=sum(counts.finished for counts in sums.values()),
            plan_changed=False,
        )

    @property
    def run_id(self) -> str:
        return self.request.run_id

    @property
    def counts(self) -> RunCounts:
        """Over all partitions."""
        return reduce(add, self.sums.values(), RunCounts())

    @property
    def deadline(self) -> datetime:
        return self.started_at + timedelta(seconds=self.request.deadline_seconds)

    @property
    def room(self) -> int:
        """How many rollouts may be admitted now."""
        if self.planned is None or self.tasks is None or self.cancelled is not None:
            return 0
        return room(self.planned, self.demand, self.admitted, self.finished, self.request.concurrency)

    @property
    def load(self) -> Load:
        planned = self.planned if self.cancelled is None else None
        waiting = max(0, (planned or 0) - self.admitted)
        return Load(1, waiting, max(0, self.admitted - self.finished))

    def plan(self, count: int) -> None:
        """The data set has `count` tasks."""
        self.planned = count * self.request.samples
        self.plan_changed = True

    def raise_demand(self, demand: int) -> None:
        """Demand never falls; None is all."""
        if self.demand is not None and demand > self.demand:
            self.demand = demand
            self.plan_changed = True

    def hear(self, partition: int, counts: RunCounts) -> None:
        """`partition` has counted so much in all."""
        known = self.sums.get(partition)
        self.finished += counts.finished - (known.finished if known else 0)
        self.sums[partition] = counts
        self.sums_changed.add(partition)

    def cancel(self, reason: str, failure: Failure | None, now: datetime) -> None:
        """Admit no more."""
        self.cancelled, self.cancelled_at, self.failure = reason, now, failure
        self.plan_changed = True
        self.drop()

    def reject(self, failure: Failure, bad_rows: list[BadRow]) -> None:
        """The run can't be played; nothing of it was admitted."""
        self.rejected, self.failure, self.bad_rows = True, failure, bad_rows

    def drop(self) -> None:
        """Stop the jobs in the background."""
        if self.job is not None:
            self.job.cancel()
        if self.tasks is not None:
            self.tasks.close()
        self.job = self.tasks = None

    def over(self, now: datetime, grace: timedelta) -> bool:
        """Whether nothing more is to come. A cancelled run waits for its rollouts no longer than `grace`."""
        if self.rejected:
            return True
        if self.cancelled_at is not None:
            return self.finished >= self.admitted or now >= self.cancelled_at + grace
        return self.planned is not None and self.finished >= self.admitted == self.planned

    def next_deadline(self, grace: timedelta) -> datetime:
        """When time alone changes something."""
        return self.deadline if self.cancelled_at is None else self.cancelled_at + grace

    @property
    def progress(self) -> Told | None:
        """What there is to be told; None: nothing new."""
        now = (self.planned or 0, self.admitted, self.finished)
        return None if self.planned is None or now == self.told else now

    def plan_record(self, position: int, now: datetime, finished: bool = False) -> RunPlanRecorded:
        return RunPlanRecorded(
            id=f"{self.run_id}/plan@{position}",
            run_id=self.run_id,
            time=self.cancelled_at or now,
            request=self.request,
            planned=self.planned,
            admitted=self.admitted,
            demand=self.demand,
            cancelled=self.cancelled,
            failure=self.failure,
            finished=finished,
            started_at=self.started_at,
        )

    def sum_record(self, partition: int, position: int, now: datetime) -> RunSumRecorded:
        return RunSumRecorded(
            id=f"{self.run_id}/sum/{partition}@{position}",
            run_id=self.run_id,
            time=now,
            partition=partition,
            counts=self.sums[partition],
        )

    def progressed(self, told: Told, now: datetime) -> RunProgressed:
        planned, admitted, finished = told
        return RunProgressed(
            id=f"{self.run_id}/{planned}/{admitted}/{finished}",
            run_id=self.run_id,
            time=now,
            planned=planned,
            admitted=admitted,
            counts=self.counts,
            started_at=self.started_at,
        )

    def finished_event(self, now: datetime) -> RunFinished:
        """The run's last word, when it is over."""
        return RunFinished(
            id=self.run_id,
            run_id=self.run_id,
            time=now,
            status=self._status,
            planned=self.planned or 0,
            admitted=self.admitted,
            counts=self.counts,
            failure=self._cause,
            bad_rows=self.bad_rows,
            started_at=self.started_at,
        )

    @property
    def _status(self) -> RunStatus:
        if self.rejected:
            return RunStatus.FAILED
        return RunStatus.FINISHED if self.cancelled is None else RunStatus.CANCELLED

    @property
    def _cause(self) -> Failure | None:
        if self.failure is not None or self.cancelled is None:
            return self.failure
        return Failure(kind=FailureKind.RUN_CANCELLED, stage=Stage.PLAN, message=self.cancelled)
