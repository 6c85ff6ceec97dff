"""What a verifier-worker tells Prometheus of rewards."""

from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from odradek_runtime.records import Output
from odradek_schemas.events import RecordCoordinates, RewardAssigned
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import Group, RolloutStatus
from odradek_verifier_worker.metrics import VerifierMetrics

AT = datetime(2026, 1, 1, tzinfo=UTC)
LIMITED = Failure(kind=FailureKind.RATE_LIMITED, stage=Stage.MODEL, message="429")


def reward(value: float | None, **changes: Any) -> Output:
    given: dict[str, Any] = {
        "id": "r/0/0",
        "run_id": "r",
        "rollout_id": "r/0/0",
        "reward": value,
        "masked": value is None,
        "status": RolloutStatus.COMPLETED,
        "environment": "mcqa",
        "model": "m",
        "group": Group(task_id="r/0", size=1),
        "sample": 0,
        "turns": 1,
        "attempt": 1,
        "usage": Usage(),
        "started_at": AT,
        "finished_at": AT,
        "trajectory": RecordCoordinates(topic="trajectories", partition=0, offset=0),
    }
    return Output("rewards", RewardAssigned(**given | changes))


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> VerifierMetrics:
    metrics = VerifierMetrics()
    for collector in metrics.collectors():
        registry.register(collector)
    return metrics


def test_coverage_and_mean_come_from_first_scorings_alone(
    metrics: VerifierMetrics, registry: CollectorRegistry
) -> None:
    """Caught: masked rewards in the mean; re-scores that make a run look better covered than it is."""
    metrics.committed([reward(1.0), reward(0.5), reward(None, failure=LIMITED), reward(0.0, scoring="again")])

    def counted(scoring: str, outcome: str, kind: str = "") -> float | None:
        labels = {"environment": "mcqa", "scoring": scoring, "outcome": outcome, "kind": kind}
        return registry.get_sample_value("odradek_rewards_total", labels)

    assert counted("primary", "scored") == 2
    assert counted("primary", "masked", "rate_limited") == 1
    assert counted("rescore", "scored") == 1
    assert registry.get_sample_value("odradek_reward_sum", {"environment": "mcqa"}) == 1.5
    assert registry.get_sample_value("odradek_reward_count", {"environment": "mcqa"}) == 2


def test_the_name_of_a_rescore_is_no_label(metrics: VerifierMetrics, registry: CollectorRegistry) -> None:
    metrics.committed([reward(1.0, scoring=f"s{number}") for number in range(300)])
    series = [sample for family in registry.collect() for sample in family.samples]
    assert len([sample for sample in series if sample.name == "odradek_rewards_total"]) == 1


def test_scorings_that_wait_for_judges_are_told(
    metrics: VerifierMetrics, registry: CollectorRegistry
) -> None:
    class Waiting(list[int]):
        __hash__ = object.__hash__  # type: ignore[assignment]

    some, others = Waiting([1, 2]), Waiting([3])
    metrics.watch(some)
    metrics.watch(others)
    assert registry.get_sample_value("odradek_waiting_judgings") == 3
    some.clear()
    assert registry.get_sample_value("odradek_waiting_judgings") == 1
