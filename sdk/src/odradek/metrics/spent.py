"""What rollouts took: percentiles of tokens, turns, seconds and cost."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from odradek.metrics.plan import Placed
from odradek_schemas.events import RewardAssigned


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of a quantity that `known` of the `planned` rollouts tell; `total` is their sum.

    Each is a value that occurred (nearest rank, Hyndman and Fan's definition 1); all are None where none is known.
    There is no policy for the missing ones here: what a rollout took that nobody saw is not 0.
    """

    planned: int
    known: int
    total: float
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    most: float | None = None


def percentiles(values: Iterable[float | None], planned: int) -> Percentiles:
    """Percentiles of the values that are not None."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return Percentiles(planned, 0, 0.0)
    total = math.fsum(known)
    p50, p90, p95, p99 = (rank(known, share) for share in (0.5, 0.9, 0.95, 0.99))
    return Percentiles(planned, len(known), total, total / len(known), p50, p90, p95, p99, known[-1])


def rank(ordered: Sequence[float], share: float) -> float:
    """The least value that at least `share` of all, in ascending order, are not above."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spent(placed: Placed) -> Mapping[str, Percentiles]:
    """Percentiles by name, over the rollouts that ended, whether they were scored or not.

    `cost` is in US dollars, known where the model's price is. A rollout whose record can't be read tells nothing.
    """
    told = [reward for reward in placed.rewards if reward.attempt > 0]
    planned = placed.plan.rollouts
    return {name: percentiles(map(read, told), planned) for name, read in _READERS.items()}


def _seconds(reward: RewardAssigned) -> float:
    return (reward.finished_at - reward.started_at).total_seconds()


_READERS: Mapping[str, Callable[[RewardAssigned], float | None]] = {
    "tokens": lambda reward: reward.usage.total_tokens,
    "prompt_tokens": lambda reward: reward.usage.prompt_tokens,
    "completion_tokens": lambda reward: reward.usage.completion_tokens,
    "turns": lambda reward: reward.turns,
    "seconds": _seconds,
    "cost": lambda reward: reward.cost,
}
