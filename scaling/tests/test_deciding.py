"""How many workers: what must hold whatever the load does."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from odradek_scaling.deciding import Decision, History, Sample, decide, kept
from odradek_scaling.policy import DEFAULTS, Policies, Policy

EVERY = 2.0
loads = st.integers(0, 100_000)
maybe_loads = st.one_of(st.none(), loads)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    least = draw(st.integers(0, 20))
    return Policy(
        target=draw(st.floats(1, 1000)),
        min=least,
        max=draw(st.integers(max(1, least), 60)),
        grow_seconds=draw(st.sampled_from([0, 1, 3, 10])),
        shrink_seconds=draw(st.sampled_from([0, 5, 30])),
        tolerance=draw(st.floats(0, 0.5)),
    )


def play(
    policy: Policy,
    load: Callable[[int], int | None],
    ticks: int,
    replicas: int,
    partitions: int | None = None,
) -> list[int]:
    """What a pool is scaled to, tick by tick, when its load is `load(tick)` and each decision takes effect."""
    samples: list[Sample] = []
    seen = []
    for tick in range(ticks):
        now = tick * EVERY
        samples = kept([*samples, Sample(now, load(tick))], policy, now)
        replicas = decide(History(samples, replicas, partitions), policy, now).replicas
        seen.append(replicas)
    return seen


def changes(seen: list[int]) -> int:
    return sum(before != after for before, after in pairwise(seen))


TICKS = 20 + int(30 / EVERY)
"""Longer than any window above, and some."""


@given(policies(), loads, st.integers(0, 60))
def test_a_constant_load_changes_a_pool_once_at_most_after_its_bounds(
    policy: Policy, load: int, start: int
) -> None:
    seen = play(policy, lambda _tick: load, TICKS, start)
    assert changes([start, *seen]) <= 2
    assert changes(seen[1:]) <= 1
    assert changes(seen[-3:]) == 0


@given(policies(), st.integers(0, 60), st.integers(1, 5000))
def test_it_reaches_its_most_under_growth(policy: Policy, start: int, step: int) -> None:
    enough = int(policy.max * policy.target * 2) + 1
    seen = play(policy, lambda tick: min(enough, step * tick) if tick < 30 else enough, 30 + TICKS, start)
    assert seen[-1] == policy.max


@given(policies(), st.integers(0, 60), st.lists(loads, max_size=20))
def test_it_returns_to_its_fewest_when_nothing_is_left(policy: Policy, start: int, before: list[int]) -> None:
    seen = play(policy, lambda tick: before[tick] if tick < len(before) else 0, len(before) + TICKS, start)
    assert seen[-1] == policy.min
    assert 0 not in seen[1:] or policy.min == 0


@given(policies(), st.lists(maybe_loads, max_size=40), st.integers(0, 200), st.integers(1, 80))
def test_it_never_leaves_its_bounds_nor_exceeds_the_partitions(
    policy: Policy, series: list[int | None], start: int, partitions: int
) -> None:
    for replicas in play(policy, lambda tick: series[tick], len(series), start, partitions):
        assert replicas <= min(policy.max, partitions)
        assert replicas >= min(policy.min, partitions)


@given(policies(), st.lists(st.tuples(loads, loads), min_size=1, max_size=30), st.integers(0, 60))
def test_more_load_never_means_fewer_workers(
    policy: Policy, series: list[tuple[int, int]], replicas: int
) -> None:
    now = EVERY * len(series)
    one = [Sample(EVERY * tick, min(pair)) for tick, pair in enumerate(series)]
    more = [Sample(EVERY * tick, max(pair)) for tick, pair in enumerate(series)]
    assert (
        decide(History(one, replicas), policy, now).replicas
        <= decide(History(more, replicas), policy, now).replicas
    )


@given(policies(), st.data())
def test_noise_within_the_tolerance_changes_nothing(policy: Policy, data: st.DataObject) -> None:
    workers = data.draw(st.integers(max(1, policy.min), policy.max))
    least, most = (workers - 1) * policy.target, workers * policy.target
    load = data.draw(st.integers(math.floor(least) + 1, math.floor(most)))
    low, high = load * (1 - policy.tolerance), load * (1 + policy.tolerance)
    noisy = st.integers(math.ceil(low), math.floor(high))
    series = data.draw(st.lists(noisy, min_size=TICKS, max_size=TICKS))
    assert set(play(policy, lambda tick: series[tick], TICKS, workers)) == {workers}


@given(policies(), st.lists(loads, max_size=30), st.integers(0, 60))
def test_what_is_not_known_changes_nothing(policy: Policy, series: list[int], replicas: int) -> None:
    assume(policy.min <= replicas <= policy.max)
    samples = [Sample(EVERY * tick, load) for tick, load in enumerate(series)]
    now = EVERY * len(series)
    blind = History([*samples, Sample(now, None)], replicas)
    assert decide(blind, policy, now).replicas == replicas
    assert decide(History([], replicas), policy, now).replicas == replicas


@given(policies(), st.lists(maybe_loads, min_size=1, max_size=60), st.integers(0, 60))
def test_what_is_forgotten_of_a_history_would_not_have_mattered(
    policy: Policy, series: list[int | None], replicas: int
) -> None:
    samples = [Sample(EVERY * tick, load) for tick, load in enumerate(series)]
    now = samples[-1].at
    whole, short = History(samples, replicas), History(kept(samples, policy, now), replicas)
    assert decide(whole, policy, now) == decide(short, policy, now)


POLICY = Policy(target=10, min=1, max=8, grow_seconds=4, shrink_seconds=20)


@pytest.mark.parametrize(
    ("series", "replicas", "decided"),
    [
        ([35, 35, 35], 1, Decision(4, "35 a worker, target 10")),
        ([10, 35, 35], 1, Decision(1, "35 a worker, target 10: 4 if so for 4 s")),
        ([35, 24, 61], 1, Decision(3, "61 a worker, target 10")),
        ([5] * 10, 4, Decision(4, "1.25 a worker, target 10: 1 if so for 20 s")),
        ([5] * 11, 4, Decision(1, "1.25 a worker, target 10")),
        ([5, 26, *[5] * 9], 4, Decision(3, "1.25 a worker, target 10")),
        ([0] * 11, 3, Decision(1, "0 a worker, target 10")),
        ([0] * 5 + [None] + [0] * 5, 3, Decision(3, "0 a worker, target 10: 1 if so for 20 s")),
        ([None] + [0] * 10, 3, Decision(3, "0 a worker, target 10: 1 if so for 20 s")),
        ([35, None, 35], 1, Decision(4, "35 a worker, target 10")),
        ([33], 3, Decision(3, "11 a worker, target 10")),
        ([500], 12, Decision(8, "outside 1 to 8")),
        ([], 3, Decision(3, "the load is not known")),
    ],
)
def test_decisions(series: list[int | None], replicas: int, decided: Decision) -> None:
    samples = [Sample(EVERY * tick, load) for tick, load in enumerate(series)]
    now = samples[-1].at if samples else 0.0
    assert decide(History(samples, replicas), POLICY, now) == decided


def test_between_two_measurements_the_load_is_taken_to_be_as_it_was() -> None:
    slow = [Sample(0, 0), Sample(50, 35), Sample(75, 0)]
    assert decide(History(slow, 4), POLICY, 75).replicas == 4, "how long it has been so is not known"
    assert decide(History([*slow, Sample(100, 0)], 4), POLICY, 100).replicas == 1


def test_a_pool_at_none_comes_back_for_one_record() -> None:
    policy = Policy(target=50, min=0, max=4, grow_seconds=0)
    assert decide(History([Sample(0, 1)], 0), policy, 0) == Decision(1, "load 1, nobody there")


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        ({"agent-worker": {"target": 10, "min": 0}}, "runs stand still"),
        ({"agents": {"target": 10}}, "there is no pool 'agents'"),
        ({"env-worker": {"target": 10, "min": 5, "max": 2}}, "min must not be more"),
        ({"env-worker": {"target": 0}}, "greater than 0"),
    ],
)
def test_policies_that_cannot_be_are_refused(pools: dict[str, dict[str, float]], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Policies.model_validate({"pools": pools})


def test_every_pool_has_a_default() -> None:
    assert len(DEFAULTS.pools) == 5
