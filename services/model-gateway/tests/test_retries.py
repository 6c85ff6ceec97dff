"""Retries are bounded and never reach past the deadline."""

import math
from datetime import UTC, datetime
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.retries import (
    FIRST_BACKOFF_SECONDS,
    LONGEST_BACKOFF_SECONDS,
    GiveUp,
    Wait,
    decide,
    read_retry_after,
)

tries = st.integers(1, 10_000)
seconds = st.floats(0, 1e6)
left = st.floats(-1e6, 1e6)
chances = st.floats(0, 1, exclude_max=True)


@given(tries, tries, st.booleans(), st.none() | seconds, left, chances)
def test_a_wait_ends_before_the_deadline_and_after_what_was_asked(
    made: int, most: int, retried: bool, retry_after: float | None, left: float, chance: float
) -> None:
    decision = decide(made, most, retried, retry_after, left, chance)
    if isinstance(decision, Wait):
        assert 0 <= decision.seconds < left
        assert decision.seconds >= (retry_after or 0)
        assert decision.seconds <= (retry_after or 0) + LONGEST_BACKOFF_SECONDS
    else:
        assert decision.reason


@given(tries, tries, st.none() | seconds, chances)
def test_tries_are_bounded(made: int, most: int, retry_after: float | None, chance: float) -> None:
    decision = decide(made, most, True, retry_after, math.inf, chance)
    assert isinstance(decision, Wait) == (made < most)


@given(st.integers(1, 20), chances)
def test_what_a_retry_can_not_cure_is_not_retried(most: int, chance: float) -> None:
    assert isinstance(decide(1, most, False, None, math.inf, chance), GiveUp)


def test_backoff_doubles_and_jitter_takes_any_part_of_it() -> None:
    def longest(made: int) -> float:
        decision = decide(made, 99, True, None, math.inf, chance=1.0)
        assert isinstance(decision, Wait)
        return decision.seconds

    assert [longest(n) for n in (1, 2, 3)] == [FIRST_BACKOFF_SECONDS * n for n in (1, 2, 4)]
    assert longest(50) == LONGEST_BACKOFF_SECONDS
    assert decide(5, 99, True, None, math.inf, chance=0.0) == Wait(0.0)


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)), st.integers(-1000, 1000)
)
def test_an_http_date_says_the_seconds_until_then(date: datetime, early: int) -> None:
    whole = date.replace(microsecond=0)
    header = format_datetime(whole, usegmt=True)
    assert read_retry_after(header, whole.timestamp() - early) == max(early, 0)


def test_seconds_are_read() -> None:
    assert read_retry_after("7", now=0.0) == 7.0
    assert read_retry_after("0.5", now=0.0) == 0.5


def test_what_is_not_a_time_says_nothing() -> None:
    for value in (None, "", "soon", "nan", "inf", "Mon, 99 Foo 2020"):
        assert read_retry_after(value, now=0.0) is None
    assert read_retry_after("-3", now=0.0) == 0.0


@given(st.text(), st.floats(0, 4e9))
def test_no_header_breaks_the_reader(value: str, now: float) -> None:
    found = read_retry_after(value, now)
    assert found is None or (found >= 0 and math.isfinite(found))
