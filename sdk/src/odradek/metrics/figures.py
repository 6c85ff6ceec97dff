"""A figure and how sure it is: a mean over what was planned, with an interval clustered by task."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from odradek.metrics.plan import Missing, Scores

CONFIDENCE = 0.95
_NOTHING = 1e-9
"""A standard error below this is none: what is left of sums of floating-point numbers."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over `planned` rollouts (or tasks), of which `scored` have a value; `missing` says what the others count.

    `error` is its standard error and `low` to `high` its interval; they are None where the data is from one task, and
    all are where there is nothing to stand on.
    """

    planned: int
    scored: int
    missing: Missing
    value: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def coverage(self) -> float:
        """The share of what was planned that has a value of its own."""
        return self.scored / self.planned if self.planned else 0.0


def mean(scores: Scores, missing: Missing = Missing.EXCLUDE, confidence: float = CONFIDENCE) -> Figure:
    """The mean over all planned rollouts, each with the same weight.

    Samples of a task are not independent; the tasks are. So the standard error is clustered by task: Miller, "Adding
    Error Bars to Evals" (2024), eq. 4, with the correction n / (n - 1) for few clusters, as Stata and statsmodels do.
    Where all scores lie in [0, 1] so does the interval: see `wilson`.
    """
    planned = sum(len(row) for row in scores.values())
    scored = sum(score is not None for row in scores.values() for score in row)
    rows = (filled(row, missing) for row in scores.values())
    return estimate([row for row in rows if row], planned, scored, missing, confidence)


def filled(row: Sequence[float | None], missing: Missing) -> list[float]:
    """The scores of one task that count, in the order of the samples."""
    if missing is Missing.ZERO:
        return [0.0 if score is None else score for score in row]
    return [score for score in row if score is not None]


def estimate(
    clusters: Sequence[Sequence[float]],
    planned: int,
    scored: int,
    missing: Missing,
    confidence: float = CONFIDENCE,
) -> Figure:
    """The mean of all numbers in `clusters` (none of which is empty); clusters are independent of each other."""
    every = [value for cluster in clusters for value in cluster]
    if not every:
        return Figure(planned, scored, missing)
    value = fmean(every)
    if len(clusters) < 2:
        return Figure(planned, scored, missing, value)
    error = standard_error(clusters, value)
    low, high = _interval(every, value, error, len(clusters), confidence)
    return Figure(planned, scored, missing, value, error, low, high)


def standard_error(clusters: Sequence[Sequence[float]], value: float) -> float:
    """Of the mean `value` of two clusters or more: see `mean`."""
    sums = [math.fsum(score - value for score in cluster) for cluster in clusters]
    variance = math.fsum(each * each for each in sums) * len(sums) / (len(sums) - 1)
    return math.sqrt(variance) / sum(map(len, clusters))


def wilson(share: float, size: float, z: float) -> tuple[float, float]:
    """Wilson's interval for a share found in a sample that is worth `size` independent draws; within [0, 1].

    Source: Wilson, "Probable Inference" (1927). That a clustered sample is worth p (1 - p) / error^2 draws is Kish's
    effective sample size; see Franco et al., "Comparative Study of Confidence Intervals for Proportions in Complex
    Sample Surveys" (2019).
    """
    centre = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, centre - half), min(1.0, centre + half)


def quantile(confidence: float) -> float:
    """How many standard errors an interval reaches to each side."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _interval(
    every: Iterable[float], value: float, error: float, clusters: int, confidence: float
) -> tuple[float, float]:
    z = quantile(confidence)
    if not all(0.0 <= score <= 1.0 for score in every):
        return value - z * error, value + z * error
    spread = max(0.0, value * (1.0 - value))
    varied = spread > _NOTHING and error > _NOTHING
    return wilson(min(1.0, value), spread / error**2 if varied else clusters, z)
