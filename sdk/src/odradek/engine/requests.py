"""The requests that a rollout makes: events for other workers, with deterministic ids."""

from datetime import datetime

from odradek.engine.attempt import Attempt
from odradek_schemas.events import (
    ModelCallRequested,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
)
from odradek_schemas.messages import Sampling, ToolCall


def model_call(
    attempt: Attempt, call_id: str, sampling: Sampling, now: datetime, deadline: datetime
) -> ModelCallRequested:
    request = attempt.request
    return ModelCallRequested(
        id=call_id,
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=now,
        model=request.model,
        messages=attempt.messages,  # validation copies the list, so later messages don't appear in it
        tools=attempt.tools,
        sampling=sampling,
        deadline=deadline,
    )


def tool_call(attempt: Attempt, call_id: str, call: ToolCall, now: datetime) -> ToolCallRequested:
    request = attempt.request
    return ToolCallRequested(
        id=call_id,
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=now,
        session_id=attempt.session_id,
        turn=attempt.progress.turn,
        call=call,
        timeout_seconds=request.limits.tool_seconds,
    )


def open_session(attempt: Attempt, now: datetime) -> SessionRequested:
    """Each attempt opens the same world: the seed is the rollout's."""
    request = attempt.request
    return SessionRequested(
        id=f"{attempt.session_id}/open",
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=now,
        session_id=attempt.session_id,
        environment=request.environment,
        task=request.task,
        sealed_answer=request.sealed_answer,
        tools=request.tools,
        seed=request.seed,
        timeout_seconds=request.limits.session_seconds,
    )


def close_session(attempt: Attempt, now: datetime, *, discard: bool) -> SessionCloseRequested:
    request = attempt.request
    return SessionCloseRequested(
        id=f"{attempt.session_id}/close",
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=now,
        session_id=attempt.session_id,
        discard=discard,
        timeout_seconds=request.limits.session_seconds,
    )
