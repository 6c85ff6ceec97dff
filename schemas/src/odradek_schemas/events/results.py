"""`trajectories` and `rewards`."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.events.letters import RecordCoordinates
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import Group, Judgement, RolloutStatus, TrainingSample, Trajectory

PRIMARY_SCORING = "primary"
RECORDED_SCORING = "recorded"
"""The scoring of a reward that came with a file: it is compared with ours, and never taken for it."""
RESERVED_SCORINGS = frozenset({PRIMARY_SCORING, RECORDED_SCORING})
"""Names that no re-score may have: its rewards would count as a run's own."""


class TrajectoryFinished(RolloutEvent):
    """The one record of a rollout that ended, whatever its end."""

    type: Literal["TrajectoryFinished"] = "TrajectoryFinished"
    trajectory: Trajectory


class VerifierIdentity(Model):
    """Which code scored: the environment's name and a hash of the verifier's source and settings."""

    name: str
    version: str


class RewardAssigned(RolloutEvent):
    """The reward of one rollout under one scoring; `reward` is None exactly when it is `masked`.

    A rollout that failed for the infrastructure's sake is masked and says which failure: trainers skip it,
    they never see a zero that the model did not earn. `scoring` tells the first scoring and the re-scores apart.
    `samples` are the rollout's tokens, where its upstream returned them; `judgements` what judges said.
    `cost` is the trajectory's, in US dollars.
    """

    type: Literal["RewardAssigned"] = "RewardAssigned"
    scoring: str = PRIMARY_SCORING
    reward: float | None = None
    masked: bool = False
    components: dict[str, float] = Field(default_factory=dict)
    details: JsonObject = Field(default_factory=dict)
    status: RolloutStatus
    truncated_by: str | None = None
    failure: Failure | None = None
    verifier: VerifierIdentity | None = None
    environment: str
    model: str
    group: Group
    sample: int
    turns: int
    attempt: int
    usage: Usage
    cost: float | None = None
    policy_version: str | None = None
    started_at: datetime
    finished_at: datetime
    trajectory: RecordCoordinates
    judgements: list[Judgement] = Field(default_factory=list)
    samples: list[TrainingSample] = Field(default_factory=list)
