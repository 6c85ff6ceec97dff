"""The reward of a rollout as it is announced: from a verdict, or masked with the reason why there is none."""

from collections.abc import Sequence

from odradek.samples import samples
from odradek_schemas import ids
from odradek_schemas.base import trusted
from odradek_schemas.codec import BlobCorrupt, BlobMissing, RecordError
from odradek_schemas.events import RecordCoordinates, RewardAssigned, TrajectoryFinished
from odradek_schemas.events.base import now
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import Group, Judgement, RolloutStatus, Trajectory
from odradek_scoring.exchange import Verdict

_UNKNOWN = "unknown"


def reward_id(rollout_id: str, scoring: str = PRIMARY_SCORING) -> str:
    return f"{rollout_id}/reward/{scoring}"


def announce(
    event: TrajectoryFinished,
    verdict: Verdict,
    at: RecordCoordinates,
    scoring: str = PRIMARY_SCORING,
    judgements: Sequence[Judgement] = (),
) -> RewardAssigned:
    """The reward of a finished rollout, whose record lies `at`; masked exactly when the verdict brings none."""
    trajectory, reward = event.trajectory, verdict.reward
    return trusted(
        RewardAssigned,
        {
            "type": "RewardAssigned",
            "time": now(),
            "id": reward_id(event.rollout_id, scoring),
            "scoring": scoring,
            "run_id": event.run_id,
            "rollout_id": event.rollout_id,
            "reward": None if reward is None else reward.reward,
            "masked": reward is None,
            "components": {} if reward is None else reward.components,
            "details": {} if reward is None else reward.details,
            "status": trajectory.status,
            "truncated_by": trajectory.truncated_by,
            "failure": verdict.failure,
            "verifier": verdict.verifier,
            "environment": trajectory.environment,
            "model": trajectory.model,
            "group": trajectory.group,
            "sample": trajectory.sample,
            "turns": trajectory.turns,
            "attempt": trajectory.attempt,
            "usage": trajectory.usage,
            "cost": trajectory.cost,
            "policy_version": _policy(trajectory),
            "started_at": trajectory.started_at,
            "finished_at": trajectory.finished_at,
            "trajectory": at,
            "judgements": list(judgements),
            "samples": samples(trajectory).samples,
        },
    )


def unplayed(trajectory: Trajectory) -> Verdict | None:
    """The verdict on a rollout that did not come to an end of its own; None: it is to be verified."""
    if trajectory.status is RolloutStatus.FAILED:
        kind, stage = FailureKind.HARNESS_ERROR, Stage.HARNESS
    elif trajectory.status is RolloutStatus.CANCELLED:
        kind, stage = FailureKind.RUN_CANCELLED, Stage.PLAN
    else:
        return None
    unsaid = Failure(
        kind=kind, stage=stage, message=f"the rollout {trajectory.status}, without a reason given"
    )
    return Verdict(failure=trajectory.failure or unsaid)


def unreadable(
    rollout: str | None, error: RecordError, at: RecordCoordinates, scoring: str = PRIMARY_SCORING
) -> RewardAssigned | None:
    """The masked reward of a trajectory that can't be read; None: not even its rollout is known."""
    task, _, sample = (rollout or "").rpartition("/")
    if rollout is None or not sample.isdecimal():
        return None
    blob = isinstance(error, BlobMissing | BlobCorrupt)
    kind = FailureKind.BLOB_UNREADABLE if blob else FailureKind.UNREADABLE_RECORD
    time = now()
    return RewardAssigned(
        id=reward_id(rollout, scoring),
        scoring=scoring,
        run_id=ids.run_of(rollout),
        rollout_id=rollout,
        reward=None,
        masked=True,
        status=RolloutStatus.FAILED,
        failure=Failure(kind=kind, stage=Stage.TRANSPORT, message=str(error)),
        environment=_UNKNOWN,
        model=_UNKNOWN,
        group=Group(task_id=task, size=1),
        sample=int(sample),
        turns=0,
        attempt=0,
        usage=Usage(),
        started_at=time,
        finished_at=time,
        trajectory=at,
    )


def _policy(trajectory: Trajectory) -> str | None:
    """The policy version that made the last reply."""
    for step in reversed(trajectory.steps):
        if step.kind == "model" and step.tokens is not None:
            return step.tokens.policy_version
    return None
