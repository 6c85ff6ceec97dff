"""How long a partition is left alone after its commits failed."""

from odradek_runtime.worker import MOST_FAILURES, failure_pause


def test_the_first_failure_hardly_costs_time_and_many_leave_time_to_mend_the_cause() -> None:
    assert failure_pause(1) == 0.05
    assert [failure_pause(n + 1) / failure_pause(n) for n in range(1, 8)] == [2] * 7
    assert failure_pause(1000) == 15
    assert 30 < sum(failure_pause(n) for n in range(1, MOST_FAILURES + 1)) < 60
