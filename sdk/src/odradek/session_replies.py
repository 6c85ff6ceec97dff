"""What the agent is told of an action of a session."""

from typing import Any

from odradek.tools import ToolResult
from odradek_schemas.events import (
    ProgramFailed,
    ProgramFinished,
    ProgramRequested,
    SessionClosed,
    SessionCloseRequested,
    SessionFailed,
    SessionReady,
    SessionRequested,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from odradek_schemas.failures import Failure, FailureKind, Stage

SessionAction = SessionRequested | ToolCallRequested | ProgramRequested | SessionCloseRequested
SessionReply = (
    SessionReady
    | SessionFailed
    | ToolCallCompleted
    | ToolCallFailed
    | ProgramFinished
    | ProgramFailed
    | SessionClosed
)

_STAGES: dict[type[SessionAction], Stage] = {
    ToolCallRequested: Stage.TOOL,
    ProgramRequested: Stage.HARNESS,
}

_INTERRUPTED = (
    "This call of {name} was interrupted, and it is not run again. Whether it took effect is not known: "
    "check before you repeat it."
)


def observation(action: ToolCallRequested, result: ToolResult, latency_ms: float) -> ToolCallCompleted:
    """What the tool said."""
    return ToolCallCompleted(
        **names(action, "completed"),
        call_id=action.id,
        content=result.content,
        is_error=result.is_error,
        done=result.done,
        latency_ms=latency_ms,
    )


def interrupted(action: ToolCallRequested) -> ToolCallCompleted:
    """What there is to say of a call that was begun, has no answer, and must not be begun again."""
    return ToolCallCompleted(
        **names(action, "completed"),
        call_id=action.id,
        content=_INTERRUPTED.format(name=action.call.function.name),
        is_error=True,
        interrupted=True,
    )


def call_failed(action: ToolCallRequested, failure: Failure) -> ToolCallFailed:
    return ToolCallFailed(**names(action, "failed"), call_id=action.id, failure=failure)


def program_failed(action: ProgramRequested, failure: Failure) -> ProgramFailed:
    return ProgramFailed(**names(action, "failed"), call_id=action.id, failure=failure)


def session_failed(action: SessionRequested | SessionCloseRequested, failure: Failure) -> SessionFailed:
    return SessionFailed(**names(action, "failed"), failure=failure)


def fault(action: SessionAction, kind: FailureKind, message: str) -> Failure:
    """A failure of `action`, at the stage where it belongs."""
    return Failure(kind=kind, stage=_STAGES.get(type(action), Stage.SESSION), message=message)


def overdue(action: SessionAction) -> Failure:
    """The failure of an action that did not end within its `timeout_seconds`."""
    if isinstance(action, ToolCallRequested):
        what, kind = f"tool {action.call.function.name!r}", FailureKind.TOOL_DEADLINE
    elif isinstance(action, ProgramRequested):
        what, kind = f"program {action.program!r}", FailureKind.PROGRAM_DEADLINE
    else:
        opening = isinstance(action, SessionRequested)
        what, kind = f"{'opening' if opening else 'closing'} the session", FailureKind.SESSION_DEADLINE
    return fault(action, kind, f"{what} took longer than {action.timeout_seconds:g} s")


def names(action: SessionAction, outcome: str) -> dict[str, Any]:
    """The ids of a reply: of the call for a tool's or a program's, else of the session."""
    owner = action.id if isinstance(action, ToolCallRequested | ProgramRequested) else action.session_id
    return {
        "id": f"{owner}/{outcome}",
        "run_id": action.run_id,
        "rollout_id": action.rollout_id,
        "session_id": action.session_id,
    }
