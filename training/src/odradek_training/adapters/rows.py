"""Sequences as trainers take them: a prompt, and all that followed it (pure)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from odradek_schemas.events import RewardAssigned
from odradek_schemas.rollouts import TrainingSample
from odradek_training.errors import PolicyUnordered
from odradek_training.group import Group
from odradek_training.policies import number


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence of a rollout that counts, cut where the model began.

    `response`, `mask` and `logprobs` have the same length, [tokens], and there is at least one; `mask` is 1 where the
    model chose the token, `logprobs` (nats) are of those, and 0.0 elsewhere. `advantage` is the group-relative one of the
    rollout (`Group.advantages`), for trainers that compute none.
    """

    group: str
    reward: RewardAssigned
    sample: TrainingSample
    score: float
    advantage: float

    @property
    def prompt(self) -> list[int]:
        return self.sample.token_ids[: self.sample.prompt_length]

    @property
    def response(self) -> list[int]:
        return self.sample.token_ids[self.sample.prompt_length :]

    @property
    def mask(self) -> list[int]:
        return self.sample.loss_mask[self.sample.prompt_length :]

    @property
    def logprobs(self) -> list[float]:
        return self.sample.logprobs[self.sample.prompt_length :]

    @property
    def policies(self) -> tuple[int, int]:
        """The oldest and the newest policy that chose tokens of it; 0 where none was announced.

        Raises:
            PolicyUnordered: a version does not end in a number.
        """
        numbers = [_number(version) for version in self.sample.policy_versions or [None]]
        return min(numbers), max(numbers)


def rows(group: Group) -> list[Row]:
    """A row for each rollout that counts: of its sequences the one in which the model chose most.

    For trainers that compare a group's rows with each other: a rollout with several would count several times.
    """
    return [principal(found) for found in rollouts(group)]


def rollouts(group: Group) -> list[list[Row]]:
    """All rows of each rollout that counts, in the order of their calls.

    A rollout does not count if it is masked, which each is that failed for the infrastructure's sake, or if no token is
    known that its model chose.
    """
    pairs = zip(group.rewards, group.advantages(), strict=True)
    return [found for reward, advantage in pairs if (found := list(_rows(group, reward, advantage)))]


def _rows(group: Group, reward: RewardAssigned, advantage: float) -> Iterable[Row]:
    if reward.masked or reward.reward is None:
        return
    for sample in reward.samples:
        if any(sample.loss_mask):
            yield Row(f"{group.run_id}:{group.task_id}", reward, sample, reward.reward, advantage)


def principal(found: Sequence[Row]) -> Row:
    """Of a rollout's rows the one in which the model chose most."""
    return max(found, key=lambda row: sum(row.mask))


def _number(version: str | None) -> int:
    known = number(version)
    if known is None:
        raise PolicyUnordered(
            f"the policy's version {version!r} does not end in a number: announce versions such as step-7"
        )
    return known


def stretches(row: Row) -> Sequence[tuple[bool, slice]]:
    """The whole sequence cut wherever it changes between the model and what it was shown: (whether it is the model's,
    where it lies in `sample.token_ids`)."""
    mask = row.sample.loss_mask
    edges = [0, *(at for at in range(1, len(mask)) if mask[at] != mask[at - 1]), len(mask)]
    return [(bool(mask[start]), slice(start, end)) for start, end in pairwise(edges)]
