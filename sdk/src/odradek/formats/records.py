"""A recorded rollout: its trajectory, the rewards that it ever got, and its answer where the file tells it."""

from enum import StrEnum
from typing import NamedTuple

from odradek_schemas.base import JsonObject
from odradek_schemas.events import RecordCoordinates, RewardAssigned
from odradek_schemas.events.results import PRIMARY_SCORING, RECORDED_SCORING
from odradek_schemas.failures import Failure
from odradek_schemas.rollouts import ModelStep, Trajectory


class Format(StrEnum):
    """What a file of rollouts is in."""

    ODRADEK = "odradek"
    NEMO_GYM = "nemo-gym"
    ATIF = "atif"
    PARQUET = "parquet"
    HF = "hf"
    SFT = "sft"


class BadRecord(ValueError):
    """A rollout of a file can't be used. `line` counts from 1; `field` is a dotted path, empty for the whole."""

    def __init__(self, line: int, field: str, reason: str) -> None:
        super().__init__(f"line {line}: {field}: {reason}" if field else f"line {line}: {reason}")
        self.line = line
        self.field = field
        self.reason = reason


class Record(NamedTuple):
    """One rollout of a file. `answer` is in the clear, None where it is sealed in the trajectory or there is none.

    `task_named`, `sample_named`: whether it is said which task and which sample of it this is; else the ids are made up.
    """

    trajectory: Trajectory
    rewards: tuple[RewardAssigned, ...]
    answer: JsonObject | None = None
    task_named: bool = True
    sample_named: bool = True

    def reward(self, scoring: str = PRIMARY_SCORING) -> RewardAssigned | None:
        """The reward of one scoring, None where there is none."""
        return next((reward for reward in self.rewards if reward.scoring == scoring), None)

    @property
    def recorded(self) -> RewardAssigned | None:
        """The reward that the file is about: the first scoring's, or what another program gave."""
        return self.reward() or self.reward(RECORDED_SCORING)


def recorded_reward(
    trajectory: Trajectory,
    place: RecordCoordinates,
    reward: float | None,
    *,
    components: dict[str, float] | None = None,
    details: JsonObject | None = None,
    failure: Failure | None = None,
) -> RewardAssigned:
    """The reward that came with a trajectory; masked where `reward` is None. `place`: where the trajectory lies."""
    return RewardAssigned(
        id=f"{trajectory.rollout_id}/reward/{RECORDED_SCORING}",
        run_id=trajectory.run_id,
        rollout_id=trajectory.rollout_id,
        time=trajectory.finished_at,
        scoring=RECORDED_SCORING,
        reward=reward,
        masked=reward is None,
        components=components or {},
        details=details or {},
        status=trajectory.status,
        truncated_by=trajectory.truncated_by,
        failure=failure or trajectory.failure,
        environment=trajectory.environment,
        model=trajectory.model,
        group=trajectory.group,
        sample=trajectory.sample,
        turns=trajectory.turns,
        attempt=trajectory.attempt,
        usage=trajectory.usage,
        policy_version=_policy(trajectory),
        started_at=trajectory.started_at,
        finished_at=trajectory.finished_at,
        trajectory=place,
    )


def _policy(trajectory: Trajectory) -> str | None:
    """The policy version that made the last reply."""
    steps = (step for step in reversed(trajectory.steps) if isinstance(step, ModelStep) and step.tokens)
    return next((step.tokens.policy_version for step in steps if step.tokens), None)
