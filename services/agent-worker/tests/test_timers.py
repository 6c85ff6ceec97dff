"""Timers on one heap: only those that count fire, in order, and the heap stays small."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from odradek_agent_worker.timers import LEAST_SWEPT, Timers

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=40), st.integers(0, 60))
def test_those_that_are_due_fire_in_order_and_the_rest_stay(armed, until):
    counts = {str(index): counts for index, (_, counts) in enumerate(armed)}
    timers = Timers(lambda timer: counts[timer.name])
    for index, (due, _) in enumerate(armed):
        timers.arm(at(due), "r", str(index))
    fired = [timer.due for timer in timers.fired(at(until))]
    assert fired == sorted(at(due) for due, counts in armed if counts and due <= until)
    assert timers.next() == min((at(due) for due, counts in armed if counts and due > until), default=None)


def test_one_that_is_held_back_fires_later():
    timers = Timers(lambda timer: True)
    timers.arm(at(1), "r", "early", not_before=at(5))
    timers.arm(at(9), "r", "late", not_before=at(5))
    assert timers.next() == at(5)
    assert [timer.name for timer in timers.fired(at(5))] == ["early"]
    assert timers.next() == at(9)


def test_the_dead_are_swept():
    living = {"0"}
    timers = Timers(lambda timer: timer.rollout_id in living)
    for index in range(20 * LEAST_SWEPT):
        timers.arm(at(3600 + index), str(index), "rollout")
    assert len(timers) < 2 * LEAST_SWEPT
    assert timers.next() == at(3600)


def test_timers_that_are_armed_while_others_fire_are_kept():
    timers = Timers(lambda timer: True)
    timers.arm(at(0), "r", "first")
    for _ in timers.fired(at(1)):
        for index in range(2 * LEAST_SWEPT):
            timers.arm(at(10 + index), "r", str(index))
    assert timers.next() == at(10)
    assert len(timers) == 2 * LEAST_SWEPT
