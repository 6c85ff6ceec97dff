"""What an agent-worker tells Prometheus of its rollouts."""

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from odradek_agent_worker.metrics import AgentMetrics
from odradek_schemas.failures import FailureKind


class Seen:
    """The metrics of one worker of the test's, committed cycle by cycle."""

    def __init__(self, worker) -> None:
        self.metrics = AgentMetrics(lambda: worker.now)
        self.metrics.watch(worker.fold)
        self.registry = CollectorRegistry()
        for collector in self.metrics.collectors():
            self.registry.register(collector)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@pytest.fixture
def worker(make_worker):
    return make_worker()


def test_rollouts_are_counted_by_how_they_ended(worker, tools):
    seen = Seen(worker)
    seen.metrics.committed(worker.cycle(tools.task(0), tools.task(1)))
    first, second = worker.requests
    seen.metrics.committed(worker.cycle(tools.answer(first)))
    seen.metrics.committed(worker.cycle(tools.model_failure(second, FailureKind.AUTH)))
    assert seen.value("odradek_rollouts_ended_total", environment="counter", status="completed", kind="") == 1
    assert (
        seen.value("odradek_rollouts_ended_total", environment="counter", status="failed", kind="auth") == 1
    )
    assert seen.value("odradek_rollout_seconds_count", environment="counter") == 2


def test_attempts_that_were_made_anew_are_counted_by_kind(worker, tools):
    seen = Seen(worker)
    seen.metrics.committed(worker.cycle(tools.task()))
    (call,) = worker.requests
    seen.metrics.committed(worker.cycle(tools.model_failure(call, FailureKind.RATE_LIMITED)))
    assert seen.value("odradek_failed_attempts_total", kind="rate_limited") is None, "it is not over yet"
    seen.metrics.committed(worker.cycle(tools.answer(worker.requests[-1])))
    assert seen.value("odradek_failed_attempts_total", kind="rate_limited") == 1


def test_rollouts_of_which_nothing_is_heard_are_told(worker, tools):
    seen = Seen(worker)
    assert seen.value("odradek_oldest_step_seconds") == 0
    worker.cycle(tools.task(0))
    worker.now += timedelta(seconds=250)
    worker.cycle(tools.task(1))
    worker.now += timedelta(seconds=70)
    assert seen.value("odradek_unfinished_rollouts") == 2
    assert (seen.value("odradek_oldest_step_seconds") or 0) >= 320
    assert seen.value("odradek_quiet_rollouts", longer_than="60") == 2
    assert seen.value("odradek_quiet_rollouts", longer_than="300") == 1
    assert seen.value("odradek_quiet_rollouts", longer_than="1800") == 0
    worker.cycle(tools.answer(worker.requests[0]))
    assert seen.value("odradek_quiet_rollouts", longer_than="300") == 0


def test_a_fold_that_is_not_used_any_more_has_no_rollouts(worker, tools):
    seen = Seen(worker)
    worker.cycle(tools.task(0))
    worker.fold.close()
    worker.now += timedelta(seconds=1000)
    assert seen.value("odradek_oldest_step_seconds") == 0
    assert seen.value("odradek_unfinished_rollouts") == 0
