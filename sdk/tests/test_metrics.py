"""Figures of a run, over what was planned."""

import math
from datetime import UTC, datetime
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.metrics import avg_at, mean, pass_at, pass_at_k, sample_counts, scores_by_task, summarize, wilson
from odradek_schemas.events import RecordCoordinates, RewardAssigned
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import Group, RolloutStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def reward(task, sample, value, **components):
    return RewardAssigned(
        id=f"r/{task}/{sample}/primary",
        run_id="r",
        rollout_id=f"r/{task}/{sample}",
        reward=value,
        masked=value is None,
        components=components,
        status=RolloutStatus.COMPLETED if value is not None else RolloutStatus.FAILED,
        environment="e",
        model="m",
        group=Group(task_id=f"r/{task}", size=4),
        sample=sample,
        turns=1,
        attempt=1,
        usage=Usage(),
        started_at=NOW,
        finished_at=NOW,
        trajectory=RecordCoordinates(topic="trajectories", partition=0, offset=0),
    )


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_that_hold_a_pass(case):
    samples, passed, k = case
    draws = list(combinations([True] * passed + [False] * (samples - passed), k))
    assert pass_at_k(samples, passed, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize("case", [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
def test_pass_at_k_refuses_what_is_not_defined(case):
    with pytest.raises(ValueError, match="not defined"):
        pass_at_k(*case)


def test_large_counts_stay_exact():
    assert pass_at_k(10_000, 1, 5_000) == pytest.approx(0.5)


def test_masked_rollouts_are_in_no_mean():
    rewards = [reward(0, 0, 1.0), reward(0, 1, None), reward(1, 0, 0.0), reward(1, 1, 0.0)]
    found = summarize(rewards, planned=8, samples=2)
    assert found.mean.value == pytest.approx(1 / 3)
    assert (found.finished, found.masked, found.mean.scored) == (4, 1, 3)
    assert found.mean.coverage == 3 / 8


def test_a_run_without_a_score_has_no_mean():
    found = summarize([reward(0, 0, None)], planned=4, samples=1)
    assert (found.mean.value, found.mean.low, found.mean.coverage) == (None, None, 0.0)
    assert found.pass_at[0].value is None
    assert summarize([], planned=0, samples=1).mean.coverage == 0.0


def test_more_rewards_than_planned_are_refused():
    with pytest.raises(ValueError, match="of one scoring"):
        summarize([reward(0, 0, 1.0), reward(0, 1, 1.0)], planned=1, samples=1)


def test_rewards_beyond_a_share_have_the_plain_interval():
    scores = {str(i): [value] for i, value in enumerate([0.0, 2.0, 1.0, -1.0, 1.0])}
    found = mean(scores, 5)
    deviation = math.sqrt(sum((v - 0.6) ** 2 for [v] in scores.values()) / 4)
    assert found.high - found.value == pytest.approx(1.959964 * deviation / math.sqrt(5), rel=1e-5)
    assert found.value - found.low == pytest.approx(found.high - found.value)


@pytest.mark.parametrize(
    ("share", "size", "low", "high"),
    [(0.0, 10, 0.0, 0.2775), (1.0, 10, 0.7225, 1.0), (0.5, 10, 0.2366, 0.7634), (0.9, 20, 0.6990, 0.9721)],
)
def test_wilsons_interval_is_that_of_the_books(share, size, low, high):
    assert wilson(share, size, 1.959964) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_a_share_of_single_samples_has_wilsons_interval():
    scores = {str(i): [value] for i, value in enumerate([0.0, 1.0, 1.0, 0.0, 1.0])}
    found = mean(scores, 5)
    assert (found.low, found.high) == pytest.approx(wilson(0.6, 4, 1.959964), rel=1e-5)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=2, max_size=12))
def test_an_interval_of_shares_is_one_of_shares(tasks):
    found = mean({str(index): scores for index, scores in enumerate(tasks)}, 100)
    assert 0.0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1.0


def test_when_all_pass_the_interval_still_has_a_width_that_shrinks_with_the_tasks():
    few, many = (mean({str(i): [1.0] * 3 for i in range(tasks)}, 100) for tasks in (3, 30))
    assert few.low < many.low < many.high == 1.0


def test_samples_that_agree_within_a_task_count_as_one():
    alone = mean({"a": [1.0], "b": [0.0], "c": [1.0]}, 3)
    copied = mean({"a": [1.0] * 9, "b": [0.0] * 9, "c": [1.0] * 9}, 27)
    assert (copied.low, copied.high) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_one_task_has_no_interval():
    found = mean({"a": [1.0, 0.0]}, 2)
    assert (found.value, found.low, found.high) == (0.5, None, None)


def test_pass_at_needs_enough_samples_and_says_for_how_many_tasks():
    scores = {"a": [1.0, 0.0], "b": [0.0, 0.0], "c": [1.0]}
    found = pass_at(scores, 2, planned=4)
    assert (found.value, found.tasks, found.coverage) == (0.5, 2, 0.5)
    assert pass_at(scores, 1, planned=4).value == pytest.approx((0.5 + 0 + 1) / 3)


def test_what_passes_is_a_threshold():
    assert pass_at({"a": [0.7]}, 1, planned=1, threshold=0.5).value == 1.0
    assert pass_at({"a": [0.7]}, 1, planned=1).value == 0.0


def test_avg_at_takes_the_first_samples():
    scores = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0]}
    assert avg_at(scores, 2, planned=2).value == 0.5
    assert avg_at(scores, 3, planned=2).tasks == 1


def test_samples_keep_their_order_whenever_they_came():
    assert scores_by_task([reward(0, 2, 0.2), reward(0, 0, 0.0), reward(0, 1, 0.1)]) == {
        "r/0": [0.0, 0.1, 0.2]
    }


def test_components_are_averaged_where_they_are():
    rewards = [reward(0, 0, 1.0, style=1.0), reward(0, 1, 0.0, style=0.0, length=3.0), reward(0, 2, None)]
    assert summarize(rewards, planned=3, samples=3).components == {"length": 3.0, "style": 0.5}


def test_the_counts_that_are_shown():
    assert [sample_counts(n) for n in (1, 2, 4, 6)] == [[1], [1, 2], [1, 2, 4], [1, 2, 4, 6]]
    found = summarize([reward(0, s, 1.0) for s in range(4)], planned=4, samples=4)
    assert [at.k for at in found.pass_at] == [1, 2, 4]
    assert [at.value for at in found.avg_at] == [1.0, 1.0, 1.0]
