"""A rollout being played, and the events that tell of it."""

from dataclasses import dataclass
from datetime import datetime

from odradek.engine import Decision, RolloutMachine
from odradek_agent_worker.watch import Suspect
from odradek_runtime.records import Output
from odradek_schemas.events import (
    Event,
    JournalAppended,
    JournalInput,
    ModelCallRequested,
    RecordCoordinates,
    RolloutEnded,
    RolloutSnapshot,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
    TrajectoryFinished,
)
from odradek_schemas.rollouts import RolloutStatus
from odradek_schemas.topics import JOURNAL, MODEL_CALLS, TOOL_ACTIONS, TRAJECTORIES

_TOPICS: dict[type[Event], str] = {
    ModelCallRequested: MODEL_CALLS.name,
    SessionRequested: TOOL_ACTIONS.name,
    ToolCallRequested: TOOL_ACTIONS.name,
    SessionCloseRequested: TOOL_ACTIONS.name,
}


@dataclass(slots=True)
class Playing:
    """An unfinished rollout. Its journal begins at offset `first` or later; `suspect` is its name for the watchdog."""

    machine: RolloutMachine
    entries: list[JournalAppended]
    first: int
    suspect: Suspect

    @property
    def run_id(self) -> str:
        return self.machine.request.run_id

    @property
    def rollout_id(self) -> str:
        return self.machine.request.rollout_id

    def record(
        self, event: JournalInput, decision: Decision, source: RecordCoordinates | None
    ) -> list[Output]:
        """The entry for an accepted input, and the requests that it caused."""
        sequence = len(self.entries)
        rollout_id = self.rollout_id
        entry = JournalAppended(
            id=f"{rollout_id}/journal/{sequence}",
            run_id=self.run_id,
            rollout_id=rollout_id,
            time=decision.now,
            sequence=sequence,
            source=source,
            input=event,
            requests=decision.prints,
        )
        self.entries.append(entry)
        return [
            Output(JOURNAL.name, entry),
            *(Output(_TOPICS[type(request)], request) for request in decision.requests),
        ]

    def snapshot(self, now: datetime) -> Output:
        """All entries in one record."""
        snapshot = RolloutSnapshot(
            id=f"{self.rollout_id}/snapshot/{len(self.entries)}",
            run_id=self.run_id,
            rollout_id=self.rollout_id,
            time=now,
            entries=self.entries,
        )
        return Output(JOURNAL.name, snapshot)


def published(finished: TrajectoryFinished) -> list[Output]:
    """The trajectory, and the word that nothing of the rollout need be restored."""
    return [
        Output(TRAJECTORIES.name, finished),
        Output(JOURNAL.name, _ended(finished, finished.trajectory.status)),
    ]


def _ended(finished: TrajectoryFinished, status: RolloutStatus) -> RolloutEnded:
    return RolloutEnded(
        id=f"{finished.rollout_id}/ended",
        run_id=finished.run_id,
        rollout_id=finished.rollout_id,
        time=finished.time,
        status=status,
    )
