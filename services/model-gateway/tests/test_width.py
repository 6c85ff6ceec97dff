"""How many calls at once: learnt from how the replica answers."""

from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.width import LEAST_SHARE_WHEN_SLOW, USUAL, Width

ENDS = st.sampled_from(["success", "slow success", "push back", "push back of an early call"])


@given(st.integers(1, 1000), st.lists(ENDS, max_size=200))
def test_it_is_always_between_one_and_the_most(most: int, ends: list[str]) -> None:
    width, now = Width(most), 0.0
    for end in ends:
        now += 1.0
        match end:
            case "success":
                width.succeeded(now - 0.5, now, tokens=100)
            case "slow success":
                width.succeeded(now - 500, now, tokens=1)
            case "push back":
                width.pushed_back(now - 0.1, now)
            case _:
                width.pushed_back(now - 60, now)
        assert 1 <= width.calls <= most


@given(st.integers(1, 60))
def test_what_was_pushed_back_for_long_comes_back_in_full(most: int) -> None:
    """It never stays small for ever: one more for each window of successes."""
    width, now = Width(most), 0.0
    for _ in range(20):
        now += 1.0
        width.pushed_back(now - 0.1, now)
    assert width.calls == 1
    calls = 0
    while width.calls < most:
        now += 1.0
        width.succeeded(now - 0.5, now, tokens=100)
        calls += 1
    assert calls <= most * (most + 1) / 2, "a window of n successes makes room for one more"


@given(st.integers(2, 1000), st.integers(1, 500))
def test_calls_under_way_at_a_cut_do_not_cut_again(most: int, at_once: int) -> None:
    width = Width(most)
    for late in range(at_once):
        width.pushed_back(began=1.0, now=2.0 + late / 1000)
    assert width.calls == most // 2
    width.pushed_back(began=3.0, now=3.1)
    assert width.calls == max(1, most // 4)


def test_a_queue_is_seen_by_its_latency_and_costs_a_part_at_most() -> None:
    width, now = Width(100), 0.0
    for _ in range(200):
        now += 1.0
        width.succeeded(now - 1, now, tokens=100)
    assert width.calls == 100
    for _ in range(60):
        now += 20.0
        width.succeeded(now - 20, now, tokens=100)
    assert LEAST_SHARE_WHEN_SLOW * 100 <= width.calls < 60


def test_longer_replies_are_not_slower() -> None:
    width, now = Width(100), 0.0
    for tokens in [10] * 50 + [5000] * 50:
        seconds = (32 + tokens) / 100
        now += seconds
        width.succeeded(now - seconds, now, tokens)
    assert width.calls == 100


def test_what_is_slow_for_good_becomes_the_measure() -> None:
    width, now = Width(100), 0.0
    for _ in range(20):
        now += 1.0
        width.succeeded(now - 1, now, tokens=100)
    for _ in range(3 * USUAL):
        now += 10.0
        width.succeeded(now - 10, now, tokens=100)
    assert width.calls == 100
