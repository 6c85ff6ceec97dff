"""Tests and intervals of paired differences."""

import math
import random
from collections.abc import Sequence
from statistics import fmean

from odradek.metrics.figures import CONFIDENCE, quantile, wilson
from odradek.metrics.spent import rank

RESAMPLES = 10_000
_LEAST_RESAMPLES = 1_000
_MOST_DRAWS = 10_000_000
"""With more draws than that the bootstrap takes many seconds, and of so many tasks fewer resamples tell as much."""


def mcnemar(gained: int, lost: int) -> float:
    """The two-sided exact p-value: how likely so uneven a split of the tasks that changed is, were it a fair coin's.

    Source: McNemar, "Note on the Sampling Error of the Difference between Correlated Proportions" (1947), with the
    binomial distribution instead of its approximation.
    """
    changed, fewer = gained + lost, min(gained, lost)
    tail = sum(math.comb(changed, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << changed))


def newcombe(
    both: int, gained: int, lost: int, neither: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The interval of the difference of two paired shares, (gained - lost) / all, from the counts of the four cells.

    Source: Newcombe, "Improved Confidence Intervals for the Difference between Binomial Proportions Based on Paired
    Data" (1998), method 10: Wilson's intervals of both shares, squared and added, less what they have in common.

    Raises:
        ValueError: there are no pairs.
    """
    size, z = both + gained + lost + neither, quantile(confidence)
    if not size:
        raise ValueError("the difference of no pairs is not defined")
    a, b = (both + lost) / size, (both + gained) / size
    (low_a, high_a), (low_b, high_b) = wilson(a, size, z), wilson(b, size, z)
    common = _correlation(both, gained, lost, neither)
    below = _combined(b - low_b, high_a - a, common)
    above = _combined(high_b - b, a - low_a, common)
    return max(-1.0, b - a - below), min(1.0, b - a + above)


def bootstrap(
    differences: Sequence[float],
    seed: int = 0,
    resamples: int | None = None,
    confidence: float = CONFIDENCE,
) -> tuple[float, float, float]:
    """The percentile interval of the mean difference and its two-sided p-value, by drawing tasks with replacement.

    The p-value is the share of resamples whose mean is as far from the mean found as that is from 0, itself counted
    among them. The same seed gives the same result. `resamples`: 10,000, and fewer above 1,000 tasks.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), sec. 13.3 and 16.4; the p-value's +1 as in
    Davison and Hinkley, "Bootstrap Methods and Their Application" (1997), ch. 4.
    """
    size, found = len(differences), fmean(differences)
    count = resamples or min(RESAMPLES, max(_LEAST_RESAMPLES, _MOST_DRAWS // size))
    chance = random.Random(seed)
    means = sorted(fmean(chance.choices(differences, k=size)) for _ in range(count))
    far = sum(abs(mean - found) >= abs(found) - 1e-12 for mean in means)
    outside = (1 - confidence) / 2
    return rank(means, outside), rank(means, 1 - outside), (far + 1) / (count + 1)


def _correlation(both: int, gained: int, lost: int, neither: int) -> float:
    """Of the two sides, corrected for continuity; 0 where a side is all the same."""
    margins = (both + lost) * (gained + neither) * (both + gained) * (lost + neither)
    if not margins:
        return 0.0
    product, half = both * neither - gained * lost, (both + gained + lost + neither) / 2
    corrected = max(product - half, 0.0) if product > 0 else product
    return corrected / math.sqrt(margins)


def _combined(one: float, other: float, common: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * common * one * other + other * other))
