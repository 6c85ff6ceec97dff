"""What a model gateway measures: calls, whichever front end they came by, and how each replica fares.

Calls are counted when they are answered, not when that is committed: one that is made again was paid for again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from odradek_model_gateway.limits import Limits
from odradek_model_gateway.replicas import Place
from odradek_model_gateway.upstream import Upstream
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import ModelCallCompleted, ModelCallFailed
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Usage

UNKNOWN = "unknown"
"""Stands for every model that is not in the settings: whoever writes events could name any."""

ANSWERED = "answered"

FROM_ZERO = (ANSWERED, FailureKind.AUTH, FailureKind.QUOTA_EXHAUSTED, FailureKind.UPSTREAM_UNAVAILABLE)
"""Outcomes that are told before the first call ended so: else the first one would be no increase, and alarm nobody."""


class GatewayMetrics:
    """Implements `odradek_runtime.measures.Measures` for the models behind one gateway."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams
        self.calls = Counter(
            "odradek_model_calls",
            "Calls by model and outcome: answered, or the kind of failure.",
            ("model", "outcome"),
            registry=None,
        )
        self.tries = Counter(
            "odradek_model_tries",
            "Tries at an upstream by model and outcome; a call may have several.",
            ("model", "outcome"),
            registry=None,
        )
        self.seconds = Histogram(
            "odradek_model_call_seconds",
            "A call from its beginning to its answer or failure: its wait for a turn and all tries included.",
            ("model",),
            registry=None,
            buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600),
        )
        self.tokens = Counter(
            "odradek_model_tokens", "Tokens by model and kind.", ("model", "kind"), registry=None
        )
        self.cost = Counter(
            "odradek_model_cost_dollars",
            "What answered calls cost, where the model's price is known.",
            ("model",),
            registry=None,
        )

        self.limits_lost = Gauge(
            "odradek_limits_lost",
            "1 while limits that all gateways should share are each gateway's own: their server does not answer.",
            registry=None,
        )
        for model in upstreams:
            for outcome in FROM_ZERO:
                self.calls.labels(model, outcome)

    def collectors(self) -> Sequence[Collector]:
        replicas = ReplicaCollector(self._upstreams)
        counted = [self.calls, self.tries, self.seconds, self.tokens, self.cost]
        return [*counted, self.limits_lost, replicas]

    def watch(self, limits: Limits) -> None:
        """Tell whether `limits` are lost, too."""
        self.limits_lost.set_function(lambda: float(limits.lost))

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        """Calls were counted when they were made."""

    def called(self, model: str, result: ModelCallCompleted | ModelCallFailed, seconds: float) -> None:
        """A call is over."""
        model = self._known(model)
        outcome = result.failure.kind.value if isinstance(result, ModelCallFailed) else ANSWERED
        self.calls.labels(model, outcome).inc()
        self.seconds.labels(model).observe(seconds)
        if isinstance(result, ModelCallCompleted):
            self._count_tokens(model, result.usage)
            self.cost.labels(model).inc(result.cost or 0.0)

    def tried(self, model: str, outcome: str = ANSWERED) -> None:
        """A try at an upstream is over."""
        self.tries.labels(self._known(model), outcome).inc()

    def _count_tokens(self, model: str, usage: Usage) -> None:
        self.tokens.labels(model, "prompt").inc(usage.prompt_tokens)
        self.tokens.labels(model, "completion").inc(usage.completion_tokens)

    def _known(self, model: str) -> str:
        return model if model in self._upstreams else UNKNOWN


class ReplicaCollector(Collector):
    """How each replica fares when it is asked. A replica is named by its place in the model's settings, from 0: its URL
    may hold a secret."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._gauge(
            "odradek_replica_calls", "Calls under way at a replica.", lambda place: place.gate.under_way
        )
        yield self._gauge(
            "odradek_replica_limit_calls",
            "How many calls a replica bears at once, as learnt.",
            lambda place: place.gate.width.calls,
        )
        yield self._gauge(
            "odradek_replica_most_calls",
            "How many calls a replica may have at once, as set.",
            lambda place: place.gate.width.most,
        )
        yield self._gauge(
            "odradek_replica_waiting_calls",
            "Calls that wait for a turn at a replica.",
            lambda place: place.gate.waiting,
        )
        yield self._gauge(
            "odradek_replica_limited",
            "1 while a rate limit, or other gateways' calls, let nobody begin.",
            lambda place: place.gate.closed,
        )
        yield self._gauge(
            "odradek_replica_open",
            "1 while a replica is left alone after failures in a row (its breaker is open).",
            lambda place: place.breaker.opened,
        )

    def _gauge(self, name: str, text: str, value: Callable[[Place], float]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=("model", "replica"))
        for model, upstream in self._upstreams.items():
            for number, place in enumerate(upstream.places):
                family.add_metric((model, str(number)), value(place))
        return family
