"""So much a minute: never more in any minute, and no less than promised."""

from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.pace import BURST_SECONDS, MINUTE_SECONDS, Pace, seconds_each

LIMITS = st.integers(1, 6000)


def taken(pace: Pace, gaps: list[float]) -> list[float]:
    """The times at which one unit each is had by somebody who comes after these gaps and waits as told."""
    now, times = 0.0, []
    for gap in gaps:
        now += gap
        now += pace.left(1, now)
        assert pace.left(1, now) < 1e-6, "who waited as told is let in"
        pace.take(1, now)
        times.append(now)
    return times


@given(LIMITS, st.lists(st.floats(0, 30), min_size=1, max_size=120))
def test_no_minute_sees_more_than_the_limit(limit: int, gaps: list[float]) -> None:
    times = taken(Pace(limit), gaps)
    for first in range(len(times)):
        within = sum(time < times[first] + MINUTE_SECONDS - 1e-6 for time in times[first:])
        assert within <= limit


@given(LIMITS)
def test_who_always_asks_gets_sixty_in_sixty_six(limit: int) -> None:
    pace, count = Pace(limit), min(limit, 100)
    times = taken(pace, [0.0] * (2 * count))
    assert times[-1] <= 2 * count * seconds_each(limit)


@given(LIMITS)
def test_after_a_silence_a_tenth_of_a_minute_may_come_at_once(limit: int) -> None:
    pace = Pace(limit)
    at_once = max(1, int(BURST_SECONDS / seconds_each(limit) * (1 - 1e-9)))
    assert taken(pace, [1000.0, *[0.0] * (at_once - 1)]) == [1000.0] * at_once


def test_more_than_may_ever_come_at_once_is_had_when_nothing_is_owed_and_paid_for_afterwards() -> None:
    pace = Pace(600)
    assert pace.left(10_000, 0.0) == 0.0
    pace.take(10_000, 0.0)
    assert pace.left(1, 0.0) > 10 * MINUTE_SECONDS


def test_what_was_guessed_too_high_is_given_back() -> None:
    pace = Pace(600)
    pace.take(600, 0.0)
    before = pace.left(10, 0.0)
    pace.take(-300, 0.0)
    assert pace.left(10, 0.0) < before - 30
