"""Rollouts as trainers need them."""

from odradek.samples import Branch, Samples, Unusable, samples
from odradek_schemas.rollouts import TrainingSample

__all__ = ["Branch", "Samples", "TrainingSample", "Unusable", "samples"]
