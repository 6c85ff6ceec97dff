"""Rollouts as trainers need them."""

from odradek.samples import Branch, Samples, Unusable, samples
from odradek_schemas.rollouts import TrainingSample
from odradek_training.deployment import Deployment
from odradek_training.errors import (
    DemandNotRaised,
    PolicyUnordered,
    PositionDiffers,
    PositionLost,
    RunDiffers,
    RunFailed,
    RunNotFound,
    StreamError,
    StreamIdle,
    StreamUnreachable,
)
from odradek_training.group import Group, advantages
from odradek_training.stats import Stats
from odradek_training.stream import RewardStream
from odradek_training.sync import SyncRewardStream

__all__ = [
    "Branch",
    "DemandNotRaised",
    "Deployment",
    "Group",
    "PolicyUnordered",
    "PositionDiffers",
    "PositionLost",
    "RewardStream",
    "RunDiffers",
    "RunFailed",
    "RunNotFound",
    "Samples",
    "Stats",
    "StreamError",
    "StreamIdle",
    "StreamUnreachable",
    "SyncRewardStream",
    "TrainingSample",
    "Unusable",
    "advantages",
    "samples",
]
