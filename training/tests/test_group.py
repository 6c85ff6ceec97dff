"""Advantages and samples of a group."""

from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_lab import Makes

from odradek_training import Group, advantages

MAKES = Makes()
REWARDS = st.lists(st.floats(-10, 10), min_size=2, max_size=16)


@given(REWARDS)
def test_advantages_are_centred_and_of_about_unit_deviation(rewards: list[float]) -> None:
    found = advantages(rewards)
    assert sum(found) == pytest.approx(0, abs=1e-6)
    if stdev(rewards) > 0.1:
        assert stdev(found) == pytest.approx(1, abs=2e-3)


@given(st.floats(-1e6, 1e6), st.integers(1, 16))
def test_equal_rewards_teach_nothing(reward: float, count: int) -> None:
    assert advantages([reward] * count) == pytest.approx([0.0] * count, abs=1e-3)


def test_advantages_by_hand() -> None:
    assert advantages([1.0, 0.0]) == pytest.approx([0.5 / (0.5**0.5 + 1e-4), -0.5 / (0.5**0.5 + 1e-4)])
    assert advantages([1.0, 0.0], scale=False) == [0.5, -0.5]
    assert advantages([1.0, None, 0.0], scale=False) == [0.5, 0.0, -0.5]
    assert advantages([None, None]) == [0.0, 0.0]


def test_every_sample_goes_with_its_rollouts_reward_and_advantage() -> None:
    several = MAKES.reward(0, 0, 1.0, samples=[MAKES.tokens(1, 2), MAKES.tokens(1, 3, 4)])
    none, one = MAKES.reward(0, 1, 0.0), MAKES.reward(0, 2, 0.0, samples=[MAKES.tokens(5, 6)])
    group = Group("r", "r/0", 3, (several, none, one))
    assert [(reward.sample, sample.token_ids) for reward, sample in group.samples] == [
        (0, [1, 2]),
        (0, [1, 3, 4]),
        (2, [5, 6]),
    ]
    assert group.sample_advantages(scale=False) == pytest.approx([2 / 3, 2 / 3, -1 / 3])
