"""The one record that a rollout leaves behind."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from odradek.engine.attempt import Attempt
from odradek_schemas.base import trusted
from odradek_schemas.events import ModelCallCompleted, SessionClosed, TrajectoryFinished
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import ModelStep, RolloutStatus, Step, Trajectory


@dataclass(slots=True)
class Spent:
    """What all attempts together have cost, and how the earlier ones failed."""

    started_at: datetime
    usage: Usage | None = None
    cost: float | None = None
    failed_attempts: list[Failure] = field(default_factory=list)

    def add(self, call: ModelCallCompleted) -> None:
        """A call was answered. Of costs only what is known is counted."""
        self.usage = call.usage if self.usage is None else self.usage + call.usage
        if call.cost is not None:
            self.cost = (self.cost or 0.0) + call.cost


@dataclass(slots=True)
class Ending:
    """How a rollout ends; `closed` is what its session left."""

    status: RolloutStatus
    truncated_by: str | None = None
    failure: Failure | None = None
    closed: SessionClosed | None = None


def finished(attempt: Attempt, spent: Spent, ending: Ending, now: datetime) -> TrajectoryFinished:
    request = attempt.request
    return trusted(
        TrajectoryFinished,
        {
            "type": "TrajectoryFinished",
            "id": f"{request.rollout_id}/trajectory",
            "run_id": request.run_id,
            "rollout_id": request.rollout_id,
            "time": now,
            "trajectory": trajectory(attempt, spent, ending, now),
        },
    )


def trajectory(attempt: Attempt, spent: Spent, ending: Ending, now: datetime) -> Trajectory:
    request, closed = attempt.request, ending.closed
    return trusted(
        Trajectory,
        {
            "run_id": request.run_id,
            "rollout_id": request.rollout_id,
            "group": request.group,
            "sample": request.sample,
            "environment": request.environment,
            "harness": request.harness,
            "model": request.model,
            "seed": request.seed,
            "task": request.task,
            "settings": request.settings,
            "sealed_answer": request.sealed_answer,
            "messages": attempt.messages,
            "prompt_messages": attempt.prompt_messages,
            "tools": attempt.tools,
            "steps": attempt.steps,
            "status": ending.status,
            "truncated_by": ending.truncated_by,
            "failure": ending.failure,
            "attempt": attempt.number,
            "failed_attempts": spent.failed_attempts,
            "evidence": closed.evidence if closed else None,
            "sealed_evidence": closed.sealed_evidence if closed else None,
            "final_state": closed.final_state if closed else None,
            "usage": spent.usage or Usage(),
            "cost": spent.cost,
            "sampling": request.sampling,
            "token_coverage": _token_coverage(attempt.steps),
            "started_at": spent.started_at,
            "finished_at": now,
        },
    )


def _token_coverage(steps: Sequence[Step]) -> float | None:
    """The share of model calls whose tokens are complete; None where none returned any."""
    records = [step.tokens for step in steps if isinstance(step, ModelStep)]
    if not any(records):
        return None
    return sum(record is not None and record.complete for record in records) / len(records)
