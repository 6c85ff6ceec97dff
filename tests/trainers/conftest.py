"""Groups for the real trainers. These tests run in the trainers' own Pythons; see `__main__`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass
class Groups:
    """A stream of groups from memory."""

    groups: Iterator[Any]

    def want(self, groups: int) -> None:
        """All is there."""

    def __iter__(self) -> Iterator[Any]:
        return self.groups

    def __next__(self) -> Any:
        return next(self.groups)


@pytest.fixture
def stream_of() -> Any:
    return lambda groups: Groups(iter(groups))


@pytest.fixture
def sample_of() -> Any:
    """A sequence of some ids, of which the model chose those where `mask` is 1."""
    from odradek_schemas.rollouts import TrainingSample

    def made(ids: Sequence[int], mask: Sequence[int], policy: str = "step-3") -> Any:
        return TrainingSample(
            token_ids=list(ids),
            loss_mask=list(mask),
            logprobs=[-0.125 * token * chosen for token, chosen in zip(ids, mask, strict=True)],
            call_ids=["c"],
            policy_versions=[policy],
            finish_reasons=["stop"],
        )

    return made


@pytest.fixture
def groups(sample_of: Any) -> list[Any]:
    """Two tasks of three rollouts: in several turns, of several sequences, and (of the second task) one that failed."""
    from stream_lab import Makes

    from odradek_training import Group

    turns = sample_of([1, 2, 3, 4, 5, 6], [0, 0, 1, 0, 1, 1])
    short = sample_of([1, 2, 7], [0, 0, 1], "step-4")
    told = [
        [(1.0, [turns]), (0.0, [short]), (0.25, [sample_of([1, 2, 8, 9], [0, 0, 1, 1]), short])],
        [(1.0, [short]), (None, [turns]), (0.0, [turns])],
    ]
    return [
        Group(
            "r",
            f"r/{task}",
            len(rollouts),
            tuple(
                Makes().reward(task, number, score, samples=samples, components={"exact": 1.0})
                for number, (score, samples) in enumerate(rollouts)
            ),
        )
        for task, rollouts in enumerate(told)
    ]
