"""The agent-worker's fold: all unfinished rollouts of one partition."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from odradek.engine import RolloutMachine, Unreplayable, abandoned, replay, request_of
from odradek.harness import Harness
from odradek_agent_worker.admission import Admission
from odradek_agent_worker.playing import Playing, ended_unplayed
from odradek_agent_worker.restore import Recorded, Restoration
from odradek_agent_worker.timers import Timer, Timers
from odradek_agent_worker.unreadable import failed_result, failed_rollout, failure_of
from odradek_agent_worker.watch import Suspect, Watch
from odradek_runtime.logs import get_logger
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import (
    Event,
    HarnessStuck,
    JournalAppended,
    JournalInput,
    RolloutFaulted,
    RolloutRequested,
    RunCancelled,
    TimerFired,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.topics import TASKS

SNAPSHOTS_PER_CYCLE = 16
"""Most rollouts carried forward in one transaction: snapshots are large, and none is in a hurry."""

log = get_logger(__name__)

FindHarness = Callable[[str], Harness | Failure]


class JournalFold:
    """Implements `odradek_runtime.folds.Fold`. Routes inputs to rollouts, journals what they accept, and sends what
    they ask for.

    `ignored` counts results that nobody waited for: late, doubled, or of a rollout that is over.
    """

    def __init__(
        self,
        partition: int,
        find_harness: FindHarness,
        admission: Admission,
        watch: Watch,
        *,
        snapshot_after: int,
        settle_seconds: float,
    ) -> None:
        self.ignored = 0
        self._partition = partition
        self._find_harness = find_harness
        self._admission = admission
        self._watch = watch
        self._snapshot_after = snapshot_after
        self._settle = timedelta(seconds=settle_seconds)
        self._position = 0
        self._now = datetime.min.replace(tzinfo=UTC)
        self._playing: dict[str, Playing] = {}  # from the oldest to the newest in the journal
        self._timers = Timers(self._is_set)
        self._restoration = Restoration()
        self._stuck: dict[str, HarnessStuck] = {}

    # Restoring

    def restore(self, event: Event, offset: int) -> None:
        self._restoration.take(event, offset)

    def restored(self) -> Outputs:
        """Run the unfinished rollouts again. Those that can't be end in the first commit."""
        restoration, self._restoration = self._restoration, Restoration()
        self._stuck = restoration.stuck
        outputs: Outputs = []
        for rollout_id, recorded in restoration.unfinished.items():
            outputs.extend(self._resume(rollout_id, recorded))
        return outputs

    def _resume(self, rollout_id: str, recorded: Recorded) -> Outputs:
        try:
            if rollout_id in self._stuck:
                raise Unreplayable(_stuck_failure(self._stuck.pop(rollout_id)))
            machine = self._replay(rollout_id, recorded.entries)
        except Unreplayable as problem:
            return self._abandon(rollout_id, recorded, problem.failure)
        self._play(machine, recorded.entries, recorded.first)
        settled = self._now + self._settle
        for due, timer in machine.timers():
            self._timers.arm(due, rollout_id, timer, not_before=settled)
        return []

    def _replay(self, rollout_id: str, entries: Sequence[JournalAppended]) -> RolloutMachine:
        request = request_of(entries)
        harness = self._find_harness(request.harness)
        if isinstance(harness, Failure):  # it began where the harness was: that is what differs
            raise Unreplayable(harness)
        with self._watch.over(Suspect(self._partition, request.run_id, rollout_id)):
            return replay(entries, harness)

    def _abandon(self, rollout_id: str, recorded: Recorded, failure: Failure) -> Outputs:
        """End a rollout that can't be run again."""
        log.warning(
            "rollout can't be run again",
            run_id=recorded.entries[0].run_id,
            rollout_id=rollout_id,
            kind=failure.kind.value,
            reason=failure.message,
        )
        try:
            machine = abandoned(recorded.entries)
        except Unreplayable:
            return ended_unplayed(failed_rollout(rollout_id, failure, self._now))
        playing = self._play(machine, recorded.entries, recorded.first)
        return self._feed(playing, self._fault(playing, failure), None)

    # Cycles

    def begin(self, position: int, now: datetime) -> None:
        self._position = position
        self._now = now

    def accept(self, event: Event, record: Record | None) -> Outputs:
        if isinstance(event, RolloutRequested):
            return self._admit(event, record)
        if isinstance(event, RunCancelled):
            return self._cancel(event)
        if event.rollout_id is None:
            return []
        playing = self._playing.get(event.rollout_id)
        if playing is None:
            self.ignored += 1
            return []
        json = record.value if record is not None else b""
        return self._feed(playing, event, record, json)  # type: ignore[arg-type]  # the inputs carry nothing else

    def reject(self, record: Record, error: RecordError) -> Outputs:
        rollout_id = record.envelope.rollout_id
        if not rollout_id:
            return []
        failure = failure_of(error)
        playing = self._playing.get(rollout_id)
        if record.topic == TASKS.name:
            return ended_unplayed(failed_rollout(rollout_id, failure, self._now)) if playing is None else []
        if playing is None:
            self.ignored += 1
            return []
        event = failed_result(record.topic, record.envelope, rollout_id, failure, self._now)
        return self._feed(playing, event, record)

    def fire(self, now: datetime) -> Outputs:
        """Fire what is due; also carry forward rollouts that hold the restore point back."""
        self._now = now
        outputs: Outputs = []
        for timer in self._timers.fired(now):
            playing = self._playing[timer.rollout_id]
            event = TimerFired(
                id=f"{timer.rollout_id}/timer/{len(playing.entries)}",
                run_id=playing.run_id,
                rollout_id=timer.rollout_id,
                time=now,
                timer=timer.name,
            )
            outputs.extend(self._feed(playing, event, None))
        outputs.extend(self._carried_forward())
        return outputs

    def next_timer(self) -> datetime | None:
        return self._timers.next()

    def wants(self, topic: str) -> bool:
        return topic != TASKS.name or self._admission.has_room(len(self._playing))

    def restore_point(self) -> int | None:
        oldest = next(iter(self._playing.values()), None)
        return None if oldest is None else oldest.first

    def last_steps(self) -> Iterator[float]:
        """When each unfinished rollout last accepted something, in seconds since 1970."""
        return (playing.entries[-1].time.timestamp() for playing in self._playing.values() if playing.entries)

    def close(self) -> None:
        for playing in self._playing.values():
            with self._watch.over(playing.suspect):
                failure = playing.machine.drop()
            if failure is not None:
                log.warning(
                    "harness raised when dropped", rollout_id=playing.rollout_id, reason=failure.message
                )
        self._playing.clear()

    # Rollouts

    def _admit(self, event: RolloutRequested, record: Record | None) -> Outputs:
        rollout_id = event.rollout_id
        if rollout_id in self._playing:
            self.ignored += 1
            return []
        machine = RolloutMachine(event, self._find_harness(event.harness))
        playing = self._play(machine, [], self._position)
        stuck = self._stuck.pop(rollout_id, None)
        if stuck is not None:
            return self._feed(playing, self._fault(playing, _stuck_failure(stuck)), record)
        cancelled = self._admission.cancelled(event.run_id)
        if cancelled is not None:
            return self._feed(playing, cancelled, record)
        return self._feed(playing, event, record, record.value if record is not None else b"")

    def _cancel(self, event: RunCancelled) -> Outputs:
        outputs: Outputs = []
        if self._admission.cancel(event):
            for playing in [p for p in self._playing.values() if p.run_id == event.run_id]:
                outputs.extend(self._feed(playing, event, None))
        return outputs

    def _feed(
        self, playing: Playing, event: JournalInput, record: Record | None, json: bytes = b""
    ) -> Outputs:
        """Let a rollout accept an input: its journal entry, its requests, and its end. `json`: the input's own."""
        machine = playing.machine
        with self._watch.over(playing.suspect):
            decision = machine.accept(event, self._now)
        if decision is None:
            self.ignored += 1
            return []
        outputs: Outputs = [*playing.record(event, decision, record, json)]
        if decision.finished is not None:
            del self._playing[playing.rollout_id]
        else:
            for due, timer in decision.timers:
                self._timers.arm(due, playing.rollout_id, timer)
        return outputs

    def _fault(self, playing: Playing, failure: Failure) -> RolloutFaulted:
        return RolloutFaulted(
            id=f"{playing.rollout_id}/fault",
            run_id=playing.run_id,
            rollout_id=playing.rollout_id,
            time=self._now,
            failure=failure,
        )

    def _play(self, machine: RolloutMachine, entries: list[JournalAppended], first: int) -> Playing:
        request = machine.request
        suspect = Suspect(self._partition, request.run_id, request.rollout_id)
        playing = self._playing[request.rollout_id] = Playing(machine, entries, first, suspect)
        return playing

    def _is_set(self, timer: Timer) -> bool:
        playing = self._playing.get(timer.rollout_id)
        return playing is not None and playing.machine.due(timer.name) == timer.due

    def _carried_forward(self) -> list[Output]:
        snapshots: list[Output] = []
        while len(snapshots) < SNAPSHOTS_PER_CYCLE:
            oldest = next(iter(self._playing.values()), None)
            if oldest is None or self._position - oldest.first < self._snapshot_after:
                break
            self._playing[oldest.rollout_id] = self._playing.pop(oldest.rollout_id)
            oldest.first = self._position
            snapshots.append(oldest.snapshot(self._now))
        return snapshots


def _stuck_failure(stuck: HarnessStuck) -> Failure:
    message = f"the harness computed for {stuck.seconds:g} s without an await, and its worker ended itself"
    return Failure(kind=FailureKind.HARNESS_STUCK, stage=Stage.HARNESS, message=message)
