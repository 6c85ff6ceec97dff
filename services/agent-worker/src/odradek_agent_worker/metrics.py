"""What an agent-worker measures: rollouts that ended and how, and unfinished ones of which nothing is heard."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol
from weakref import WeakSet

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from odradek_runtime.measures import Names, Tellers
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import TrajectoryFinished
from odradek_schemas.events.base import now

LONGER_THAN = (60, 300, 1800, 7200)
"""Seconds without a word after which an unfinished rollout counts as quiet."""


class Quiet(Protocol):
    """Where unfinished rollouts are."""

    def last_steps(self) -> Iterable[float]:
        """When each unfinished rollout last accepted something, in seconds since 1970."""


class AgentMetrics:
    """Implements `odradek_runtime.measures.Measures`. Folds are watched as long as they are in use."""

    def __init__(self, clock: Callable[[], datetime] = now) -> None:
        self._quiet = QuietCollector(clock)
        self._environments = Names()
        self.ended = Counter(
            "odradek_rollouts_ended",
            "Rollouts that ended, by environment, status and kind of failure.",
            ("environment", "status", "kind"),
            registry=None,
        )
        self.seconds = Histogram(
            "odradek_rollout_seconds",
            "From a rollout's admission to its end.",
            ("environment",),
            registry=None,
            buckets=(0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600),
        )
        self.failed_attempts = Counter(
            "odradek_failed_attempts",
            "Attempts of ended rollouts that failed and were made anew.",
            ("kind",),
            registry=None,
        )
        self._tellers = Tellers({TrajectoryFinished: self._finished})

    def watch(self, fold: Quiet) -> None:
        """Count the unfinished rollouts of `fold` too."""
        self._quiet.folds.add(fold)

    def collectors(self) -> Sequence[Collector]:
        return [self.ended, self.seconds, self.failed_attempts, self._quiet]

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        self._tellers.committed(outputs)

    def _finished(self, event: TrajectoryFinished) -> None:
        trajectory = event.trajectory
        environment = self._environments.of(trajectory.environment)
        kind = trajectory.failure.kind.value if trajectory.failure else ""
        self.ended.labels(environment, trajectory.status.value, kind).inc()
        lasted = (trajectory.finished_at - trajectory.started_at).total_seconds()
        self.seconds.labels(environment).observe(max(0.0, lasted))
        for failure in trajectory.failed_attempts:
            self.failed_attempts.labels(failure.kind.value).inc()


class QuietCollector(Collector):
    """Looks at all unfinished rollouts when it is asked."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.folds: WeakSet[Quiet] = WeakSet()
        self._clock = clock

    def collect(self) -> Iterator[GaugeMetricFamily]:
        at = self._clock().timestamp()
        ages = [at - step for fold in self.folds for step in fold.last_steps()]
        yield GaugeMetricFamily(
            "odradek_unfinished_rollouts",
            "Rollouts that are being played in the partitions of this worker.",
            value=len(ages),
        )
        yield GaugeMetricFamily(
            "odradek_oldest_step_seconds",
            "Since the unfinished rollout that has been quiet longest accepted something.",
            value=max(ages, default=0.0),
        )
        quiet = GaugeMetricFamily(
            "odradek_quiet_rollouts",
            "Unfinished rollouts that have accepted nothing for longer than so many seconds.",
            labels=("longer_than",),
        )
        for seconds in LONGER_THAN:
            quiet.add_metric((str(seconds),), sum(age > seconds for age in ages))
        yield quiet
