"""What model gateways tell of their models, and what became of it since the last time (pure).

The log has no latencies of calls that are under way, and summing up all answers at each look would read it again and
again: the gateways have the sums at hand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

ANSWERED = "answered"


@dataclass(frozen=True)
class Told:
    """Of one model, all gateways together. Sums are from the gateways' start on."""

    under_way: float = 0.0
    limit: float = 0.0
    waiting: float = 0.0
    calls: float = 0.0
    failed: float = 0.0
    seconds: float = 0.0
    tokens: float = 0.0


@dataclass(frozen=True)
class ModelNow:
    """One model between two looks. Rates are per second; `seconds`: a call's mean. None: not known yet, or no call."""

    under_way: int
    limit: int
    waiting: int
    calls_per_second: float | None = None
    failures_per_second: float | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None


@dataclass
class _Sums:
    values: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, model: str, what: str, value: float) -> None:
        of_model = self.values.setdefault(model, {})
        of_model[what] = of_model.get(what, 0.0) + value


_SUMMED = {
    "odradek_replica_calls": "under_way",
    "odradek_replica_limit_calls": "limit",
    "odradek_replica_waiting_calls": "waiting",
    "odradek_model_calls_total": "calls",
    "odradek_model_call_seconds_sum": "seconds",
    "odradek_model_tokens_total": "tokens",
}


def read_told(texts: Iterable[str]) -> dict[str, Told]:
    """What some gateways answered on `/metrics`, by model.

    Raises:
        ValueError: it is not Prometheus' text format.
    """
    sums = _Sums()
    for text in texts:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if what := _SUMMED.get(sample.name):
                    sums.add(sample.labels["model"], what, sample.value)
                if sample.name == "odradek_model_calls_total" and sample.labels["outcome"] != ANSWERED:
                    sums.add(sample.labels["model"], "failed", sample.value)
    return {model: Told(**values) for model, values in sums.values.items()}


def since(before: Mapping[str, Told], now: Mapping[str, Told], seconds: float) -> dict[str, ModelNow]:
    """What became of it within `seconds`; a gateway that began anew has no rates this time."""
    return {model: _since(before.get(model), told, seconds) for model, told in sorted(now.items())}


def _since(before: Told | None, now: Told, seconds: float) -> ModelNow:
    standing = ModelNow(int(now.under_way), int(now.limit), int(now.waiting))
    if before is None or now.calls < before.calls or seconds <= 0:
        return standing
    calls = now.calls - before.calls
    return ModelNow(
        standing.under_way,
        standing.limit,
        standing.waiting,
        calls / seconds,
        (now.failed - before.failed) / seconds,
        (now.tokens - before.tokens) / seconds,
        (now.seconds - before.seconds) / calls if calls else None,
    )
