"""The runs that one partition owns: planned, admitted, summed up, and ended (pure, but for the jobs it starts)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from odradek_runtime.folds import FoldContext
from odradek_runtime.logs import get_logger
from odradek_runtime.partitioning import partition_of
from odradek_runtime.records import Output, Outputs, Tombstone
from odradek_schemas.events import (
    Event,
    RunCancelled,
    RunCancelRequested,
    RunCountChanged,
    RunCountReleased,
    RunCounts,
    RunDemandRaised,
    RunFinished,
    RunImported,
    RunPlanRecorded,
    RunRequested,
    RunStatus,
    RunSumRecorded,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.ids import check_run_id
from odradek_schemas.topics import CONTROL, LEDGER, RUN_PROGRESS, RUNS, TASKS
from odradek_task_producer.admission import fair_shares
from odradek_task_producer.events import DatasetLoaded, DatasetRejected
from odradek_task_producer.loading import Loader
from odradek_task_producer.rows import rollout_of
from odradek_task_producer.run import Load, Run

log = get_logger(__name__)

_ASKED = (RunRequested, RunImported, RunCancelRequested, RunDemandRaised)
"""What is said to a run's own partition."""


class Plan:
    """Outputs are collected while a cycle's events come in and handed out by `drain`, each thing once a cycle."""

    def __init__(
        self,
        context: FoldContext,
        loader: Loader,
        chunk: int,
        progress_seconds: float,
        cancel_grace_seconds: float,
    ) -> None:
        self._context = context
        self._loader = loader
        self._chunk = chunk
        self._progress_every = timedelta(seconds=progress_seconds)
        self._grace = timedelta(seconds=cancel_grace_seconds)
        self._runs: dict[str, Run] = {}
        self._over: set[str] = set()
        self._plans: dict[str, RunPlanRecorded] = {}
        self._sums: dict[str, dict[int, RunCounts]] = {}
        self._outputs: Outputs = []
        self._more = False
        self._now = datetime.min
        self._accepts: dict[type[Event], Callable[[Any], None]] = {
            RunRequested: self._request,
            RunCancelRequested: lambda event: self._cancel_asked(event.run_id, event.reason),
            RunDemandRaised: self._raise_demand,
            RunCountChanged: self._hear,
            RunCancelled: self._cancelled_elsewhere,
            DatasetLoaded: self._loaded,
            DatasetRejected: self._rejected,
        }

    def restore(self, event: RunPlanRecorded | RunSumRecorded) -> None:
        if isinstance(event, RunSumRecorded):
            self._sums.setdefault(event.run_id, {})[event.partition] = event.counts
        elif event.finished:
            self._over.add(event.run_id)
            self._plans.pop(event.run_id, None)
        else:
            self._plans[event.run_id] = event

    def restored(self) -> None:
        """Take up the unfinished runs; their jobs start again."""
        for run_id, plan in self._plans.items():
            run = self._runs[run_id] = Run.restored(plan, self._sums.get(run_id, {}))
            if run.cancelled is None:
                run.job = self._loader.load(run.request, self._context.post)
        self._plans.clear()
        self._sums.clear()

    def accept(self, event: Event, now: datetime) -> None:
        """Decide on one event; what comes of it is handed out by `drain`.

        What is asked of a run that another partition owns is handed on: whoever leaves the choice of the partition to
        Kafka's partitioner misses the owner where partitions were added.
        """
        self._now = now
        decide = self._accepts.get(type(event))
        if isinstance(event, _ASKED) and (home := self._home(event.run_id)) != self._context.partition:
            self._outputs.append(Output(RUNS.name, event, home))
        elif decide is not None:  # the others are our own words, read back, or no concern of a plan
            decide(event)

    def accept_unreadable(self, kind: str, run_id: str, reason: str, now: datetime) -> None:
        """A record of `runs` that can't be read: whoever asked is told, and a cancelled run is cancelled."""
        self._now = now
        if kind == "RunCancelRequested":
            self._cancel_asked(run_id, "asked to (the rest of the request can't be read)")
        elif kind == "RunRequested" and not self._known(run_id):
            self._outputs.append(self._refusal(run_id, FailureKind.UNREADABLE_RECORD, reason))

    def drain(self, position: int, now: datetime) -> Outputs:
        """All that is to be written now; `position` is the changelog's."""
        self._now = now
        for run in self._runs.values():
            if run.cancelled is None and now >= run.deadline:
                self._stop(
                    run,
                    FailureKind.RUN_DEADLINE,
                    f"not over {run.request.deadline_seconds:g} s after its start",
                )
        admitted = self._admit()
        for run in list(self._runs.values()):
            if run.over(now, self._grace):
                self._finish(run, run.finished_event(now), position)
            else:
                self._record(run, position)
                self._publish_progress(run)
        outputs, self._outputs = self._outputs + admitted, []
        return outputs

    def next_timer(self) -> datetime | None:
        if self._more:
            return self._now
        return min((self._next_time(run) for run in self._runs.values()), default=None)

    def load(self) -> Load:
        """What there is to do now, of all runs."""
        loads = [run.load for run in self._runs.values()]
        return Load(*(sum(of_all) for of_all in zip(*loads, strict=True))) if loads else Load(0, 0, 0)

    def close(self) -> None:
        for run in self._runs.values():
            run.drop()
        self._runs.clear()

    def _home(self, run_id: str) -> int:
        return partition_of(run_id, self._context.homes)

    def _known(self, run_id: str) -> bool:
        return run_id in self._runs or run_id in self._over

    def _request(self, event: RunRequested) -> None:
        if self._known(event.run_id):
            log.warning("a run was requested again, ignored", run_id=event.run_id)
            return
        try:
            check_run_id(event.run_id)
        except ValueError as error:
            self._outputs.append(self._refusal(event.run_id, FailureKind.INVALID_REQUEST, str(error)))
            return
        run = self._runs[event.run_id] = Run(event, started_at=self._now, demand=event.demand)
        run.job = self._loader.load(event, self._context.post)

    def _refusal(self, run_id: str, kind: FailureKind, reason: str) -> Output:
        """The one word on a run that was never taken up."""
        event = RunFinished(
            id=run_id,
            run_id=run_id,
            time=self._now,
            status=RunStatus.FAILED,
            planned=0,
            admitted=0,
            failure=Failure(kind=kind, stage=Stage.PLAN, message=reason),
            started_at=self._now,
        )
        return Output(RUNS.name, event)

    def _cancel_asked(self, run_id: str, reason: str) -> None:
        run = self._runs.get(run_id)
        if run is None or run.cancelled is not None:
            log.info("nothing to cancel", run_id=run_id, over=run_id in self._over)
            return
        self._cancel(run, reason, None)

    def _cancelled_elsewhere(self, event: RunCancelled) -> None:
        """Our own word, read back, or that of a trainer, who has told the workers already."""
        run = self._runs.get(event.run_id)
        if run is not None and run.cancelled is None:
            run.cancel(event.reason, None, self._now)

    def _stop(self, run: Run, kind: FailureKind, message: str) -> None:
        """Cancel a run that nobody asked to cancel."""
        self._cancel(run, f"{kind}: {message}", Failure(kind=kind, stage=Stage.PLAN, message=message))

    def _cancel(self, run: Run, reason: str, failure: Failure | None) -> None:
        run.cancel(reason, failure, self._now)
        event = RunCancelled(id=run.run_id, run_id=run.run_id, time=self._now, reason=reason)
        self._outputs.append(Output(CONTROL.name, event, 0))

    def _raise_demand(self, event: RunDemandRaised) -> None:
        run = self._runs.get(event.run_id)
        if run is not None:
            run.raise_demand(event.demand)

    def _hear(self, event: RunCountChanged) -> None:
        run = self._runs.get(event.run_id)
        if run is None:
            self._outputs.append(self._release(event.run_id, event.partition))
        else:
            run.hear(event.partition, event.counts)

    def _release(self, run_id: str, partition: int) -> Output:
        event = RunCountReleased(
            id=f"{run_id}/{partition}", run_id=run_id, time=self._now, partition=partition
        )
        return Output(RUN_PROGRESS.name, event, partition)

    def _loaded(self, event: DatasetLoaded) -> None:
        run = self._runs.get(event.run_id)
        if run is None or run.cancelled is not None:
            event.tasks.close()
            return
        count = len(event.tasks)
        run.job, run.tasks = None, event.tasks
        if run.planned is None:
            run.plan(count)
        elif run.planned != count * run.request.samples:
            before = run.planned // run.request.samples
            message = (
                f"data set {run.request.dataset.name} changed: it had {before} tasks and now has {count}"
            )
            self._stop(run, FailureKind.INVALID_DATASET, message)

    def _rejected(self, event: DatasetRejected) -> None:
        run = self._runs.get(event.run_id)
        if run is None or run.cancelled is not None:
            return
        if run.admitted:
            self._stop(run, event.failure.kind, event.failure.message)
        else:
            run.reject(event.failure, event.bad_rows)

    def _admit(self) -> Outputs:
        rooms = {run_id: room for run_id, run in self._runs.items() if (room := run.room)}
        shares = fair_shares(list(rooms.values()), self._chunk)
        outputs: Outputs = []
        self._more = False
        for (run_id, room), share in zip(rooms.items(), shares, strict=True):
            admitted = self._admit_from(self._runs[run_id], share)
            self._more = self._more or len(admitted) == share < room
            outputs += admitted
        return outputs

    def _admit_from(self, run: Run, share: int) -> Outputs:
        """The next `share` rollouts of a run, fewer when its tasks are still being prepared."""
        outputs: Outputs = []
        assert run.tasks is not None, "only a run whose tasks are loaded has room"
        while len(outputs) < share:
            index, sample = divmod(run.admitted, run.request.samples)
            task = run.tasks.get(index)
            if task is None:
                break
            rollout = rollout_of(task, run.request, sample, self._now)
            partition = partition_of(rollout.rollout_id, self._context.partitions)
            outputs.append(Output(TASKS.name, rollout, partition))
            run.admitted += 1
        run.plan_changed = run.plan_changed or bool(outputs)
        return outputs

    def _record(self, run: Run, position: int) -> None:
        if run.plan_changed:
            self._outputs.append(Output(LEDGER.name, run.plan_record(position, self._now)))
            run.plan_changed = False
        for partition in sorted(run.sums_changed):
            self._outputs.append(Output(LEDGER.name, run.sum_record(partition, position, self._now)))
        run.sums_changed.clear()

    def _publish_progress(self, run: Run, at_end: bool = False) -> None:
        told = run.progress
        if told is None:
            return
        if at_end or run.told_at is None or self._now >= run.told_at + self._progress_every:
            run.told, run.told_at = told, self._now
            self._outputs.append(Output(RUN_PROGRESS.name, run.progressed(told, self._now)))

    def _finish(self, run: Run, event: RunFinished, position: int) -> None:
        """The run's last word; of the run itself only its id is kept."""
        self._publish_progress(run, at_end=True)
        self._outputs += [
            Output(RUNS.name, event),
            Output(LEDGER.name, run.plan_record(position, self._now, finished=True)),
        ]
        for partition in sorted(run.sums):
            self._outputs.append(Tombstone(LEDGER.name, f"{run.run_id}/sum/{partition}"))
            self._outputs.append(self._release(run.run_id, partition))
        run.drop()
        del self._runs[run.run_id]
        self._over.add(run.run_id)

    def _next_time(self, run: Run) -> datetime:
        deadline = run.next_deadline(self._grace)
        if run.told_at is not None and run.progress is not None:
            return min(deadline, run.told_at + self._progress_every)
        return deadline
