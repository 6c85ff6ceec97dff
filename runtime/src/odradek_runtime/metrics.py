"""What a worker tells Prometheus. One registry a worker, so that two workers can live in one process (tests)."""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

from odradek_runtime.measures import Measures
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import RecordRejected


class Metrics:
    """The metrics of one worker."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._measures: Measures | None = None
        self.worker = Info("odradek_worker", "Which kind of worker this is.", registry=self.registry)
        self.ready = Gauge(
            "odradek_ready",
            "1 while the worker works on all that it was assigned, as /readyz says.",
            registry=self.registry,
        )
        self.silence = Gauge(
            "odradek_group_silence_seconds",
            "Since the broker last answered a heartbeat of this worker (or since the worker began).",
            registry=self.registry,
        )
        self.backlog = Gauge(
            "odradek_backlog_records",
            "Records that wait to be finished, by topic and partition (markers not counted when idle).",
            ("topic", "partition"),
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "odradek_in_flight_records", "Records being worked on.", ("partition",), registry=self.registry
        )
        self.owned = Gauge(
            "odradek_owned_partitions", "Partition numbers that are ready.", registry=self.registry
        )
        self.cycle_seconds = Histogram(
            "odradek_cycle_seconds",
            "From taking records to their commit.",
            registry=self.registry,
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self.loop_delay = Histogram(
            "odradek_loop_delay_seconds",
            "How late the event loop is, sampled at a fixed rate.",
            registry=self.registry,
            buckets=(
                0.001,
                0.0025,
                0.005,
                0.01,
                0.02,
                0.03,
                0.04,
                0.05,
                0.075,
                0.1,
                0.25,
                0.5,
                1,
                2.5,
                5,
                10,
            ),
        )
        self.fetches = Counter("odradek_fetches", "Polls that brought records.", registry=self.registry)
        self.transactions = Counter("odradek_transactions", "Committed transactions.", registry=self.registry)
        self.records_in = Counter("odradek_records_in", "Records taken.", ("topic",), registry=self.registry)
        self.records_out = Counter("odradek_records_out", "Records written.", registry=self.registry)
        self.errors = Counter("odradek_errors", "Errors, by kind.", ("kind",), registry=self.registry)
        self.acquisitions = Counter("odradek_acquisitions", "Partitions taken over.", registry=self.registry)
        self.rebalances = Counter(
            "odradek_rebalances", "Assignments that the group gave this worker.", registry=self.registry
        )
        self.fenced = Counter(
            "odradek_fenced", "Times that another one took this worker's place.", registry=self.registry
        )
        self.dead_letters = Counter(
            "odradek_dead_letters",
            "Records that could not be read, by the topic that they came from.",
            ("topic",),
            registry=self.registry,
        )
        self.blob_seconds = Histogram(
            "odradek_blob_seconds",
            "Reading (get) and writing (put) one large value.",
            ("call",),
            registry=self.registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        self.blob_errors = Counter(
            "odradek_blob_errors",
            "Large values that could not be read (get) or written (put), by the error.",
            ("call", "kind"),
            registry=self.registry,
        )
        self.stalled = Gauge(
            "odradek_stalled_partition",
            "1 where records wait and nothing has been committed for a while.",
            ("partition",),
            registry=self.registry,
        )

    def include(self, worker: str, version: str, inputs: Iterable[str], measures: Measures | None) -> None:
        """Tell also who the worker is, and what its kind measures."""
        for topic in inputs:
            self.dead_letters.labels(topic)  # from 0 on: the first one must count as an increase
        self.worker.info({"worker": worker, "version": version})
        self._measures = measures
        if measures is not None:
            for collector in measures.collectors():
                self.registry.register(collector)

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        """A transaction with these outputs was committed."""
        self.transactions.inc()
        for output in outputs:
            if isinstance(output, Output) and isinstance(output.event, RecordRejected):
                self.dead_letters.labels(output.event.record.topic).inc()
        if self._measures is not None:
            self._measures.committed(outputs)

    def forget(self, number: int, topics: Iterable[str]) -> None:
        """What was told of a partition number that this worker has lost is somebody else's to tell."""
        for topic in topics:
            self.backlog.remove(topic, str(number))
        self.in_flight.remove(str(number))
        self.stalled.remove(str(number))
