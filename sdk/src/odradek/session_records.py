"""What is remembered of a session: its state, and the calls of its last turn. Calls of earlier turns are forgotten."""

from pydantic import BaseModel

from odradek.session_replies import names
from odradek_schemas.events import (
    ProgramRequested,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallRequested,
)
from odradek_schemas.events.base import now


def opened(request: SessionRequested, state: BaseModel) -> SessionStateChanged:
    return _record(request, state, 0, {}, [])


def launched(record: SessionStateChanged, action: ProgramRequested) -> SessionStateChanged:
    """The session before the program, and that it was begun."""
    return record.model_copy(update={"time": now(), "started": [*record.started, action.id]})


def played(record: SessionStateChanged, action: ProgramRequested, state: BaseModel) -> SessionStateChanged:
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
    record: SessionStateChanged, action: ToolCallRequested, state: BaseModel, reply: ToolCallCompleted
) -> SessionStateChanged:
    """The session after the call."""
    last_turn = action.turn == record.turn
    earlier = record.answered if last_turn else {}
    begun = [call_id for call_id in record.started if last_turn and call_id != action.id]
    return _record(record.request, state, action.turn, {**earlier, action.id: reply}, begun)


def _record(
    request: SessionRequested,
    state: BaseModel,
    turn: int,
    answers: dict[str, ToolCallCompleted],
    begun: list[str],
) -> SessionStateChanged:
    return SessionStateChanged(
        **names(request, "state"),
        request=request,
        state=state.model_dump(mode="json"),
        turn=turn,
        answered=answers,
        started=begun,
    )
