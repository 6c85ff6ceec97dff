"""Rollouts as trainers need them."""

from odradek_training.samples import Branch, Sample, Samples, Unusable, samples

__all__ = ["Branch", "Sample", "Samples", "Unusable", "samples"]
