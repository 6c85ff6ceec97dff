"""What a task-producer tells Prometheus: from the fold itself, and of what was committed."""

from typing import Any

from prometheus_client import CollectorRegistry

from odradek_runtime.records import Output
from odradek_schemas.events import RunCancelRequested, RunFinished, RunStatus
from odradek_schemas.events.base import now
from odradek_task_producer.metrics import ProducerMetrics


def registered(metrics: ProducerMetrics) -> CollectorRegistry:
    registry = CollectorRegistry()
    for collector in metrics.collectors():
        registry.register(collector)
    return registry


def test_what_waits_and_what_is_unfinished_follows_the_plan(world: Any) -> None:
    metrics = ProducerMetrics()
    registry = registered(metrics)

    def standing() -> tuple[float | None, ...]:
        names = ("runs_under_way", "waiting_rollouts", "outstanding_rollouts")
        return tuple(registry.get_sample_value(f"odradek_{name}") for name in names)

    def watch() -> None:
        for fold in world.folds.values():
            metrics.watch(fold._plan)

    watch()
    assert standing() == (0, 0, 0)
    world.request("r", tasks=10, concurrency=4)
    world.settle()
    assert standing() == (1, 6, 4)
    world.play(3)
    world.settle()
    assert standing() == (1, 3, 4)
    for partition in range(world.partitions):
        world.restart(partition)
    watch()
    world.settle()
    assert standing() == (1, 3, 4), "closed folds and restored ones are not counted twice"
    world.finish()
    assert standing() == (0, 0, 0)


def test_a_cancelled_run_admits_nothing_that_waits(world: Any) -> None:
    metrics = ProducerMetrics()
    registry = registered(metrics)
    for fold in world.folds.values():
        metrics.watch(fold._plan)
    world.request("r", tasks=10, concurrency=4)
    world.settle()
    world.write(RunCancelRequested(id="c", run_id="r", reason="enough"))
    world.settle()
    assert registry.get_sample_value("odradek_waiting_rollouts") == 0
    assert registry.get_sample_value("odradek_outstanding_rollouts") == 4


def test_runs_and_purges_are_counted() -> None:
    metrics = ProducerMetrics()
    registry = registered(metrics)
    ended = RunFinished(
        id="r", run_id="r", status=RunStatus.CANCELLED, planned=1, admitted=1, started_at=now()
    )
    metrics.committed([Output("runs", ended)])
    assert registry.get_sample_value("odradek_runs_ended_total", {"status": "cancelled"}) == 1
    assert registry.get_sample_value("odradek_purged_timestamp_seconds") == 0
    metrics.purge_ended(False)
    assert registry.get_sample_value("odradek_purge_failures_total") == 1
    metrics.purge_ended(True)
    assert (registry.get_sample_value("odradek_purged_timestamp_seconds") or 0) > 1e9
