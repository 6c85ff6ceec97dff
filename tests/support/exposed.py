"""Every metric that the deployment tells Prometheus, with its labels, from the code itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import ProcessCollector
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector, CollectorRegistry

from odradek_agent_worker.metrics import AgentMetrics
from odradek_env_worker.metrics import EnvMetrics
from odradek_env_worker.threads import ToolThreads
from odradek_model_gateway.metrics import GatewayMetrics
from odradek_runtime.metrics import Metrics
from odradek_scaling.load import PoolLoad
from odradek_scaling.server import exposition
from odradek_task_producer.metrics import ProducerMetrics
from odradek_verifier_worker.metrics import VerifierMetrics

EVERY = "every worker"
EXPORTER = "load-exporter"
_ENDINGS = {
    "counter": {"_total": ()},
    "gauge": {"": ()},
    "info": {"_info": ()},
    "histogram": {"_bucket": ("le",), "_sum": (), "_count": ()},
    "summary": {"_sum": (), "_count": ()},
}


@dataclass(frozen=True)
class Exposed:
    """One metric. `series`: the names of its series, each with its labels."""

    name: str
    owner: str
    text: str
    series: Mapping[str, frozenset[str]]


def exposed() -> list[Exposed]:
    """All of them, but for the process's own."""
    measures = {
        "agent-worker": AgentMetrics(),
        "env-worker": EnvMetrics(ToolThreads(1, 1, lambda: None)),
        "verifier-worker": VerifierMetrics(),
        "task-producer": ProducerMetrics(),
        "model-gateway": GatewayMetrics({}),
    }
    common = Metrics()
    common.include("worker", "0", (), None)
    found = list(_metrics(EVERY, common.registry._collector_to_names))
    for owner, of_worker in measures.items():
        found += _metrics(owner, of_worker.collectors())
    return found + list(_pools())


def process_series() -> dict[str, frozenset[str]]:
    """What Prometheus' client tells of the process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return {name: labels for metric in _metrics(EVERY, [registry]) for name, labels in metric.series.items()}


def _pools() -> Iterator[Exposed]:
    load = PoolLoad(pool="env-worker", backlog=0, in_flight=0, load=0, members=0)
    for family in text_string_to_metric_families(exposition([load]).decode()):
        labels = frozenset(label for sample in family.samples for label in sample.labels)
        yield Exposed(family.name, EXPORTER, family.documentation, {family.name: labels})


def _metrics(owner: str, collectors: Iterable[Collector | CollectorRegistry]) -> Iterator[Exposed]:
    for collector in collectors:
        for family in collector.collect():
            labels = tuple(
                collector._labelnames
                if isinstance(collector, MetricWrapperBase)
                else getattr(family, "_labelnames", ())
            )
            if family.type == "info":
                labels += tuple(label for sample in family.samples for label in sample.labels)
            series = {
                family.name + ending: frozenset(labels + more)
                for ending, more in _ENDINGS[family.type].items()
            }
            yield Exposed(family.name, owner, family.documentation, series)
