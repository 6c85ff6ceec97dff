"""`journal`: what a rollout has accepted, in order. Its owner re-runs the harness against it after a crash."""

from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny

from odradek_schemas.base import Model
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.events.control import RunCancelled
from odradek_schemas.events.letters import RecordCoordinates
from odradek_schemas.events.models import ModelCallCompleted, ModelCallFailed
from odradek_schemas.events.sessions import (
    ProgramFailed,
    ProgramFinished,
    SessionClosed,
    SessionFailed,
    SessionReady,
    ToolCallCompleted,
    ToolCallFailed,
)
from odradek_schemas.events.tasks import RolloutRequested
from odradek_schemas.failures import Failure
from odradek_schemas.rollouts import RolloutStatus


class TimerFired(RolloutEvent):
    """A deadline or a sleep of the rollout came due; `timer` names it (`rollout`, or a call's or session's id)."""

    type: Literal["TimerFired"] = "TimerFired"
    timer: str


class RolloutFaulted(RolloutEvent):
    """The agent-worker found that the rollout's attempt can't go on (a stuck or nondeterministic harness)."""

    type: Literal["RolloutFaulted"] = "RolloutFaulted"
    failure: Failure


JournalInput = Annotated[
    RolloutRequested
    | ModelCallCompleted
    | ModelCallFailed
    | SessionReady
    | ToolCallCompleted
    | ToolCallFailed
    | ProgramFinished
    | ProgramFailed
    | SessionClosed
    | SessionFailed
    | RunCancelled
    | TimerFired
    | RolloutFaulted,
    Field(discriminator="type"),
]
"""All that a rollout can accept."""


class RequestPrint(Model):
    """A request that an input caused, by id, with a hash of its content: re-runs must make the same one."""

    id: str
    fingerprint: str


class JournalAppended(RolloutEvent):
    """Input number `sequence` of a rollout was accepted; `source` is where it was read, None for timers.

    `ended`: it was the last one, the trajectory is out, and nothing of the rollout need be restored.
    """

    type: Literal["JournalAppended"] = "JournalAppended"
    sequence: int
    source: RecordCoordinates | None = None
    input: SerializeAsAny[JournalInput]
    requests: list[RequestPrint] = Field(default_factory=list)
    ended: RolloutStatus | None = None


class RolloutSnapshot(RolloutEvent):
    """All entries of an unfinished rollout in one record, so that the journal before it can be forgotten."""

    type: Literal["RolloutSnapshot"] = "RolloutSnapshot"
    entries: list[JournalAppended]


class RolloutEnded(RolloutEvent):
    """A rollout that accepted nothing has ended (it could not be read, or not be run again): nothing to restore."""

    type: Literal["RolloutEnded"] = "RolloutEnded"
    status: RolloutStatus


class HarnessStuck(RolloutEvent):
    """The harness of this rollout did not yield, and its worker ended itself: the next owner must not run it."""

    type: Literal["HarnessStuck"] = "HarnessStuck"
    seconds: float
