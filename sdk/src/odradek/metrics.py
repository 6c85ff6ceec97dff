"""What a run came to: means, intervals and pass@k over the rollouts that were planned. Pure functions.

A rollout that failed for the infrastructure's sake says nothing of the model: it is in no mean, and `coverage`
says how many are missing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from odradek_schemas.events import RewardAssigned


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over the scored ones of `planned` rollouts, with a confidence interval clustered by task.

    `value`, `low` and `high` are None where nothing was scored; `low` and `high` are where the data is from one task.
    """

    planned: int
    scored: int
    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def coverage(self) -> float:
        """The share of the planned rollouts that the mean stands on."""
        return self.scored / self.planned if self.planned else 0.0


@dataclass(frozen=True, slots=True)
class AtK:
    """A figure per task that needs `k` scored samples, averaged over the `tasks` that have them, of `planned`."""

    k: int
    planned: int
    tasks: int
    value: float | None

    @property
    def coverage(self) -> float:
        return self.tasks / self.planned if self.planned else 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """All figures of a run's primary scoring."""

    planned: int
    finished: int
    masked: int
    mean: Mean
    pass_at: tuple[AtK, ...]
    avg_at: tuple[AtK, ...]
    components: Mapping[str, float]


def summarize(
    rewards: Iterable[RewardAssigned], planned: int, samples: int, threshold: float = 1.0
) -> Summary:
    """Sum up the rewards of a run of `planned` rollouts, `samples` of each task.

    pass@k and avg@k are given for k = 1, 2, 4, ... and `samples`; a sample passes from `threshold` on.

    Raises:
        ValueError: more rewards than were planned.
    """
    assigned = list(rewards)
    if len(assigned) > planned:
        raise ValueError(f"{len(assigned)} rewards of {planned} planned rollouts: pass those of one scoring")
    scored = scores_by_task(assigned)
    tasks = math.ceil(planned / samples)
    ks = sample_counts(samples)
    return Summary(
        planned=planned,
        finished=len(assigned),
        masked=sum(reward.masked for reward in assigned),
        mean=mean(scored, planned),
        pass_at=tuple(pass_at(scored, k, tasks, threshold) for k in ks),
        avg_at=tuple(avg_at(scored, k, tasks) for k in ks),
        components=component_means(assigned),
    )


def scores_by_task(rewards: Iterable[RewardAssigned]) -> dict[str, list[float]]:
    """The unmasked rewards by task, in the order of the samples."""
    found: dict[str, list[tuple[int, float]]] = {}
    for reward in rewards:
        if reward.reward is not None and not reward.masked:
            found.setdefault(reward.group.task_id, []).append((reward.sample, reward.reward))
    return {task: [score for _, score in sorted(scores)] for task, scores in found.items()}


def sample_counts(samples: int) -> list[int]:
    """1, 2, 4, ... up to `samples`, and `samples` itself."""
    powers = [2**n for n in range(samples.bit_length()) if 2**n < samples]
    return [*powers, samples]


def mean(scores: Mapping[str, Sequence[float]], planned: int, confidence: float = 0.95) -> Mean:
    """The mean of all scores, with an interval whose standard error is clustered by task.

    Samples of a task are not independent; the tasks are. Source: Miller, "Adding Error Bars to Evals" (2024), eq. 4,
    with the n/(n-1) correction for few clusters. Where all scores lie in [0, 1] so does the interval: see `wilson`.
    """
    every = [score for task in scores.values() for score in task]
    if not every:
        return Mean(planned, 0, None)
    value = fmean(every)
    if len(scores) < 2:
        return Mean(planned, len(every), value)
    clusters = [math.fsum(score - value for score in task) for task in scores.values()]
    variance = math.fsum(cluster * cluster for cluster in clusters) * len(scores) / (len(scores) - 1)
    error, z = math.sqrt(variance) / len(every), NormalDist().inv_cdf((1 + confidence) / 2)
    if min(every) >= 0.0 and max(every) <= 1.0:
        spread = value * (1.0 - value)
        low, high = wilson(value, spread / error**2 if spread and error else len(scores), z)
    else:
        low, high = value - z * error, value + z * error
    return Mean(planned, len(every), value, low, high)


def wilson(share: float, size: float, z: float) -> tuple[float, float]:
    """Wilson's interval for a share found in a sample that is worth `size` independent draws; within [0, 1].

    Source: Wilson, "Probable Inference" (1927). That a clustered sample is worth p (1 - p) / error^2 draws is Kish's
    effective sample size; see Franco et al., "Comparative Study of Confidence Intervals for Proportions in Complex
    Sample Surveys" (2019).
    """
    centre = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, centre - half), min(1.0, centre + half)


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that one of `k` samples passes, estimated without bias from `passed` of `samples`.

    Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), eq. 1.

    Raises:
        ValueError: not 0 <= passed <= samples, or not 1 <= k <= samples.
    """
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"pass@{k} of {passed} passed in {samples} samples is not defined")
    return 1.0 - math.comb(samples - passed, k) / math.comb(samples, k)


def pass_at(scores: Mapping[str, Sequence[float]], k: int, planned: int, threshold: float = 1.0) -> AtK:
    """pass@k over the tasks with at least `k` scored samples; `planned` counts tasks."""
    values = [
        pass_at_k(len(task), sum(score >= threshold for score in task), k)
        for task in scores.values()
        if len(task) >= k
    ]
    return AtK(k, planned, len(values), fmean(values) if values else None)


def avg_at(scores: Mapping[str, Sequence[float]], k: int, planned: int) -> AtK:
    """The mean of each task's first `k` scored samples, over the tasks that have them; `planned` counts tasks."""
    values = [fmean(task[:k]) for task in scores.values() if len(task) >= k]
    return AtK(k, planned, len(values), fmean(values) if values else None)


def component_means(rewards: Iterable[RewardAssigned]) -> dict[str, float]:
    """The mean of each named component over the unmasked rewards that have it."""
    found: dict[str, list[float]] = {}
    for reward in rewards:
        if not reward.masked:
            for name, value in reward.components.items():
                found.setdefault(name, []).append(value)
    return {name: fmean(values) for name, values in sorted(found.items())}
