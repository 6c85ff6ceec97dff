"""What a task-producer measures: runs, the rollouts that wait to be admitted or to end, and the purges."""

import time
from collections.abc import Sequence
from typing import Protocol
from weakref import WeakSet

from prometheus_client import Counter, Gauge
from prometheus_client.registry import Collector

from odradek_runtime.measures import Names, Tellers
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import RolloutRequested, RunFinished
from odradek_task_producer.run import Load


class Loaded(Protocol):
    """Where runs are planned."""

    def load(self) -> Load:
        """What there is to do now."""


class ProducerMetrics:
    """Implements `odradek_runtime.measures.Measures`. Plans are watched as long as they are in use."""

    def __init__(self) -> None:
        self._plans: WeakSet[Loaded] = WeakSet()
        self._environments = Names()
        self.runs = Gauge("odradek_runs_under_way", "Runs that have not ended.", registry=None)
        self.waiting = Gauge(
            "odradek_waiting_rollouts", "Planned rollouts that are not admitted yet.", registry=None
        )
        self.outstanding = Gauge(
            "odradek_outstanding_rollouts", "Admitted rollouts without a reward.", registry=None
        )
        self.admitted = Counter(
            "odradek_rollouts_admitted", "Rollouts given out as tasks.", ("environment",), registry=None
        )
        self.ended = Counter("odradek_runs_ended", "Runs that ended, by status.", ("status",), registry=None)
        self.purged = Gauge(
            "odradek_purged_timestamp_seconds", "When read records were last purged; 0: never.", registry=None
        )
        self.purge_failures = Counter("odradek_purge_failures", "Purges that failed.", registry=None)
        self.runs.set_function(lambda: self._load().runs)
        self.waiting.set_function(lambda: self._load().waiting)
        self.outstanding.set_function(lambda: self._load().unfinished)
        self._tellers = Tellers({RolloutRequested: self._admit, RunFinished: self._end})

    def watch(self, plan: Loaded) -> None:
        """Count the runs of `plan` too."""
        self._plans.add(plan)

    def purge_ended(self, well: bool) -> None:
        """A purge was made, or failed."""
        if well:
            self.purged.set(time.time())
        else:
            self.purge_failures.inc()

    def collectors(self) -> Sequence[Collector]:
        return [
            self.runs,
            self.waiting,
            self.outstanding,
            self.admitted,
            self.ended,
            self.purged,
            self.purge_failures,
        ]

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        self._tellers.committed(outputs)

    def _admit(self, event: RolloutRequested) -> None:
        self.admitted.labels(self._environments.of(event.environment)).inc()

    def _end(self, event: RunFinished) -> None:
        self.ended.labels(event.status.value).inc()

    def _load(self) -> Load:
        loads = [plan.load() for plan in self._plans]
        return Load(*(sum(of_all) for of_all in zip(*loads, strict=True))) if loads else Load(0, 0, 0)
