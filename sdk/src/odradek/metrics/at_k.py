"""Figures of `k` samples of a task: pass@k, pass^k, avg@k, each averaged over tasks."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from odradek.metrics.figures import Figure, estimate, filled
from odradek.metrics.plan import Missing, Scores


def sample_counts(samples: int) -> list[int]:
    """1, 2, 4, ... up to `samples`, and `samples` itself."""
    powers = [2**n for n in range(samples.bit_length()) if 2**n < samples]
    return [*powers, samples]


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that one of `k` samples passes, estimated without bias from `passed` of `samples`.

    Source: Chen et al., "Evaluating Large Language Models Trained on Code" (2021), eq. 1.

    Raises:
        ValueError: not 0 <= passed <= samples, or not 1 <= k <= samples.
    """
    _check(f"pass@{k}", samples, passed, k)
    every = math.comb(samples, k)
    return (every - math.comb(samples - passed, k)) / every


def pass_hat_k(samples: int, passed: int, k: int) -> float:
    """The chance that all of `k` samples pass, pass^k, estimated without bias from `passed` of `samples`.

    Source: Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains" (2024).

    Raises:
        ValueError: as `pass_at_k`.
    """
    _check(f"pass^{k}", samples, passed, k)
    return math.comb(passed, k) / math.comb(samples, k)


def pass_at(scores: Scores, k: int, missing: Missing = Missing.EXCLUDE, threshold: float = 1.0) -> Figure:
    """pass@k over the tasks with at least `k` samples that count; a sample passes from `threshold` on."""
    return over_tasks(
        passed(scores, threshold), k, missing, lambda row: pass_at_k(len(row), round(sum(row)), k)
    )


def pass_hat(scores: Scores, k: int, missing: Missing = Missing.EXCLUDE, threshold: float = 1.0) -> Figure:
    """pass^k over the tasks with at least `k` samples that count; a sample passes from `threshold` on."""
    return over_tasks(
        passed(scores, threshold), k, missing, lambda row: pass_hat_k(len(row), round(sum(row)), k)
    )


def avg_at(scores: Scores, k: int, missing: Missing = Missing.EXCLUDE) -> Figure:
    """The mean of each task's first `k` samples that count, over the tasks that have them."""
    return over_tasks(scores, k, missing, lambda row: fmean(row[:k]))


def over_tasks(scores: Scores, k: int, missing: Missing, value: Callable[[Sequence[float]], float]) -> Figure:
    """The mean of a figure per task over the tasks with at least `k` samples that count; tasks are what is planned."""
    rows = (filled(row, missing) for row in scores.values())
    values = [value(row) for row in rows if len(row) >= k]
    scored = sum(len(row) - row.count(None) >= k for row in scores.values())
    return estimate([[one] for one in values], len(scores), scored, missing)


def passed(scores: Scores, threshold: float = 1.0) -> Scores:
    """1 for each sample that passes, 0 for one that does not; one without a score has none here either."""
    return {
        task: [None if score is None else float(score >= threshold) for score in row]
        for task, row in scores.items()
    }


def _check(name: str, samples: int, passed: int, k: int) -> None:
    if not 0 <= passed <= samples or not 1 <= k <= samples:
        raise ValueError(f"{name} of {passed} passed in {samples} samples is not defined")
