"""A group: the rewards of one task's rollouts, compared with each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from odradek_schemas.events import RewardAssigned
from odradek_schemas.rollouts import TrainingSample

EPSILON = 1e-4
"""Added to the standard deviation that advantages are divided by."""


@dataclass(frozen=True, slots=True)
class Group:
    """The rewards that a trainer is given of one task, by sample number. `size` is how many were planned."""

    run_id: str
    task_id: str
    size: int
    rewards: tuple[RewardAssigned, ...]

    @property
    def complete(self) -> bool:
        """Whether every planned rollout is in it."""
        return len(self.rewards) == self.size

    @property
    def samples(self) -> list[tuple[RewardAssigned, TrainingSample]]:
        """Each sequence to train on, with the reward of its rollout; a rollout may have none, or several."""
        return [(reward, sample) for reward in self.rewards for sample in reward.samples]

    def advantages(self, *, scale: bool = True) -> list[float]:
        """The group-relative advantage of each of `rewards`: what is above the group's mean.

        `scale`: divided by the standard deviation, as GRPO has it (Shao et al. 2024, DeepSeekMath, section 4.1.2);
        without, as in Dr. GRPO (Liu et al. 2025, arXiv 2503.20783). Masked rewards, there only where they were
        asked for, count for nothing and have the advantage 0.
        """
        return advantages([reward.reward for reward in self.rewards], scale=scale)

    def sample_advantages(self, *, scale: bool = True) -> list[float]:
        """The advantage of each of `samples`: that of its rollout."""
        by_rollout = zip(self.rewards, self.advantages(scale=scale), strict=True)
        return [advantage for reward, advantage in by_rollout for _ in reward.samples]


def advantages(rewards: Sequence[float | None], *, scale: bool = True) -> list[float]:
    """Group-relative advantages of some rewards; None is masked. The deviation is the sample's (n - 1)."""
    known = [reward for reward in rewards if reward is not None]
    if not known:
        return [0.0] * len(rewards)
    mean = fmean(known)
    divisor = stdev(known) + EPSILON if scale and len(known) > 1 else 1.0
    return [0.0 if reward is None else (reward - mean) / divisor for reward in rewards]
