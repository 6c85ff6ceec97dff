"""The requests that a rollout makes: events for other workers, with deterministic ids."""

from datetime import datetime

from odradek.engine.attempt import Attempt
from odradek.engine.programs import Running
from odradek.harness import RunProgram
from odradek_schemas.events import (
    ModelAccessEnded,
    ModelCallRequested,
    ProgramRequested,
    SessionCloseRequested,
    SessionRequested,
    ToolCallRequested,
)
from odradek_schemas.messages import Sampling, ToolCall, Usage
from odradek_schemas.rollouts import ModelStep, Transcript


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


def run_program(
    attempt: Attempt, call_id: str, effect: RunProgram, seconds: float, now: datetime
) -> ProgramRequested:
    request = attempt.request
    return ProgramRequested(
        id=call_id,
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=now,
        session_id=attempt.session_id,
        program=effect.program,
        prompt=effect.prompt,
        model=request.model,
        sampling=request.sampling,
        model_seconds=request.limits.model_seconds,
        timeout_seconds=seconds,
    )


def end_access(attempt: Attempt, running: Running, reason: str, now: datetime) -> ModelAccessEnded:
    """Nothing that the program still asks is answered."""
    request = attempt.request
    return ModelAccessEnded(
        id=f"{running.program_id}/access-ended",
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=now,
        program_id=running.program_id,
        reason=reason,
        expires=running.expires,
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
        settings=request.settings,
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
        transcript=_transcript(attempt) if attempt.wants_transcript and not discard else None,
        timeout_seconds=request.limits.session_seconds,
    )


def _transcript(attempt: Attempt) -> Transcript:
    steps = [step for step in attempt.steps if isinstance(step, ModelStep)]
    return Transcript(
        model=attempt.request.model,
        messages=attempt.messages[attempt.prompt_messages :],
        finish_reason=steps[-1].finish_reason if steps else None,
        usage=sum((step.usage for step in steps), Usage()),
    )
