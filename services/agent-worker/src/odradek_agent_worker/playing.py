"""A rollout being played, and the events that tell of it."""

from dataclasses import dataclass
from datetime import datetime

from odradek.engine import Decision, RolloutMachine
from odradek_agent_worker.watch import Suspect
from odradek_runtime.records import Output, Record, Tombstone
from odradek_schemas.base import trusted
from odradek_schemas.codec import spliced
from odradek_schemas.events import (
    Event,
    JournalAppended,
    JournalInput,
    ModelAccessEnded,
    ModelCallRequested,
    ProgramRequested,
    RolloutEnded,
    RolloutSnapshot,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
    TrajectoryFinished,
)
from odradek_schemas.topics import JOURNAL, MODEL_ACCESS, MODEL_CALLS, TOOL_ACTIONS, TRAJECTORIES

_TOPICS: dict[type[Event], str] = {
    ModelCallRequested: MODEL_CALLS.name,
    SessionRequested: TOOL_ACTIONS.name,
    ToolCallRequested: TOOL_ACTIONS.name,
    ProgramRequested: TOOL_ACTIONS.name,
    SessionCloseRequested: TOOL_ACTIONS.name,
    ModelAccessEnded: MODEL_ACCESS.name,
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
        self, event: JournalInput, decision: Decision, record: Record | None, json: bytes
    ) -> list[Output]:
        """The entry for an accepted input, what it caused to be asked, and the trajectory if it was the last.

        `json`: the input as it was read, which the entry then repeats as it is; empty: it did not come as JSON.
        """
        entry = self._entry(event, decision, record)
        self.entries.append(entry)
        outputs = [Output(JOURNAL.name, entry, value=spliced(entry, "input", json) if json else None)]
        outputs += [Output(_TOPICS[type(request)], request) for request in decision.requests]
        if decision.finished is not None:
            outputs.append(Output(TRAJECTORIES.name, decision.finished))
        return outputs

    def _entry(self, event: JournalInput, decision: Decision, record: Record | None) -> JournalAppended:
        request, sequence, finished = self.machine.request, len(self.entries), decision.finished
        return trusted(
            JournalAppended,
            {
                "type": "JournalAppended",
                "id": f"{request.rollout_id}/journal/{sequence}",
                "run_id": request.run_id,
                "rollout_id": request.rollout_id,
                "time": decision.now,
                "sequence": sequence,
                "source": None if record is None else record.coordinates,
                "input": event,
                "requests": decision.prints,
                "ended": None if finished is None else finished.trajectory.status,
            },
        )

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


def ended_unplayed(finished: TrajectoryFinished) -> list[Output | Tombstone]:
    """The trajectory of a rollout that accepts nothing, and the word that nothing of it need be restored."""
    ended = RolloutEnded(
        id=f"{finished.rollout_id}/ended",
        run_id=finished.run_id,
        rollout_id=finished.rollout_id,
        time=finished.time,
        status=finished.trajectory.status,
    )
    return [Output(TRAJECTORIES.name, finished), Output(JOURNAL.name, ended)]
