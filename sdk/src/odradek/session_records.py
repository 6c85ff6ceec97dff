"""What is remembered of a session: its state, and the calls of its last turn. Calls of earlier turns are forgotten."""

from odradek.session_replies import names
from odradek_schemas.base import JsonObject
from odradek_schemas.events import (
    ProgramRequested,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallRequested,
)
from odradek_schemas.events.base import now


def opened(request: SessionRequested, state: JsonObject) -> SessionStateChanged:
    return _record(request, state, 0, {}, [])


def begun(record: SessionStateChanged, action_id: str) -> SessionStateChanged:
    """The session before what must not be begun twice, and that it was begun: a program, or the gathering of evidence."""
    return record.model_copy(update={"time": now(), "started": [*record.started, action_id]})


def played(record: SessionStateChanged, action: ProgramRequested, state: JsonObject) -> SessionStateChanged:
    """The session after the program."""
    begun = [call_id for call_id in record.started if call_id != action.id]
    return _record(record.request, state, record.turn, record.answered, begun)


def started(record: SessionStateChanged, action: ToolCallRequested) -> SessionStateChanged:
    """The session before the call, and that the call was begun."""
    last_turn = action.turn == record.turn
    return record.model_copy(
        update={
            "time": now(),
            "turn": action.turn,
            "answered": record.answered if last_turn else {},
            "started": [*(record.started if last_turn else ()), action.id],
        }
    )


def answered(
    record: SessionStateChanged, action: ToolCallRequested, state: JsonObject, reply: ToolCallCompleted
) -> SessionStateChanged:
    """The session after the call."""
    last_turn = action.turn == record.turn
    earlier = record.answered if last_turn else {}
    begun = [call_id for call_id in record.started if last_turn and call_id != action.id]
    return _record(record.request, state, action.turn, {**earlier, action.id: reply}, begun)


def _record(
    request: SessionRequested,
    state: JsonObject,
    turn: int,
    answers: dict[str, ToolCallCompleted],
    begun: list[str],
) -> SessionStateChanged:
    return SessionStateChanged(
        **names(request, "state"),
        request=request,
        state=state,
        turn=turn,
        answered=answers,
        started=begun,
    )
