"""`tool-actions`, `observations` and `sessions`: the life of an environment's session."""

from typing import Literal

from pydantic import Field

from odradek_schemas.base import JsonObject
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Message, Sampling, ToolCall, ToolSpec
from odradek_schemas.rollouts import Transcript


class SessionEvent(RolloutEvent):
    session_id: str


class SessionRequested(SessionEvent):
    """Open a world for one attempt of a rollout."""

    type: Literal["SessionRequested"] = "SessionRequested"
    environment: str
    settings: JsonObject = Field(default_factory=dict, description="The environment's.")
    task: JsonObject
    sealed_answer: str | None = None
    tools: list[ToolSpec] = Field(
        default_factory=list, description="The row's own tools; empty: the environment's."
    )
    seed: int
    timeout_seconds: float


class ToolCallRequested(SessionEvent):
    """Apply one tool call to the session. `id` is the call's id; `turn` counts the model's replies."""

    type: Literal["ToolCallRequested"] = "ToolCallRequested"
    turn: int
    call: ToolCall
    timeout_seconds: float


class ProgramRequested(SessionEvent):
    """Run `program` in the session's workspace. `id` is the call's id; its own model calls come over HTTP.

    `sampling`: what those calls are made with, whatever the program asks; `model_seconds`: the deadline of each.
    """

    type: Literal["ProgramRequested"] = "ProgramRequested"
    program: str
    prompt: str
    model: str
    sampling: Sampling = Field(default_factory=Sampling)
    model_seconds: float
    timeout_seconds: float


class SessionCloseRequested(SessionEvent):
    """Close the session and gather its evidence; `discard`: nobody will ask for the evidence.

    `transcript` is there where the session wanted it.
    """

    type: Literal["SessionCloseRequested"] = "SessionCloseRequested"
    discard: bool = False
    transcript: Transcript | None = None
    timeout_seconds: float


class SessionReady(SessionEvent):
    """The world is there. `wants_transcript`: its evidence is made of what was said, too."""

    type: Literal["SessionReady"] = "SessionReady"
    tools: list[ToolSpec]
    observation: list[Message] = Field(default_factory=list)
    wants_transcript: bool = False


class ToolCallCompleted(SessionEvent):
    """What the model gets to read. `is_error`: the call was bad (unknown tool, bad arguments, the tool refused).

    `interrupted`: the call was begun, its worker was lost, and it is not run again. Whether it had its effect outside
    the session is not known; the session's state is as before the call. It is an error as well.
    """

    type: Literal["ToolCallCompleted"] = "ToolCallCompleted"
    call_id: str
    content: str
    is_error: bool = False
    done: bool = Field(default=False, description="The environment says that the episode is over.")
    latency_ms: float = 0.0
    interrupted: bool = False


class ToolCallFailed(SessionEvent):
    """The call could not be carried out, through no fault of the model."""

    type: Literal["ToolCallFailed"] = "ToolCallFailed"
    call_id: str
    failure: Failure


class ProgramFinished(SessionEvent):
    """A program ended, one way or another. It stands in `model-results`, behind all calls that it made.

    `failed` says in words that it did not do its work, whatever its exit code; `log` is the end of what it printed.
    """

    type: Literal["ProgramFinished"] = "ProgramFinished"
    call_id: str
    exit_code: int | None = None
    result: str = ""
    failed: str | None = None
    overdue: bool = Field(default=False, description="It was ended because its time was up.")
    log: str = ""
    latency_ms: float = 0.0


class ProgramFailed(SessionEvent):
    """The program could not be run, through no fault of its own. It stands in `model-results` too."""

    type: Literal["ProgramFailed"] = "ProgramFailed"
    call_id: str
    failure: Failure


class SessionClosed(SessionEvent):
    type: Literal["SessionClosed"] = "SessionClosed"
    evidence: JsonObject | None = None
    sealed_evidence: str | None = None
    final_state: JsonObject | None = None


class SessionFailed(SessionEvent):
    """The session could not be opened, or not closed."""

    type: Literal["SessionFailed"] = "SessionFailed"
    failure: Failure


class SessionStateChanged(SessionEvent):
    """The env-worker's changelog: the session's state, and the answers of its last turn.

    `answered` holds the last turn's observations by call id: a repeated action is answered, not applied twice.
    `started` holds the ids of the last turn's calls that were begun, must not be begun twice, and have no answer here.
    A tombstone follows when the session is closed.
    """

    type: Literal["SessionStateChanged"] = "SessionStateChanged"
    request: SessionRequested
    state: JsonObject
    turn: int = 0
    answered: dict[str, ToolCallCompleted] = Field(default_factory=dict)
    started: list[str] = Field(default_factory=list)

    @property
    def key(self) -> str:
        return self.session_id
