"""What a worker tells on `/metrics`."""

import asyncio
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

ASK_SECONDS = 5.0


@dataclass(frozen=True)
class Scrape:
    """The samples of one or several workers, added up: `(name, labels) -> value`."""

    samples: Mapping[tuple[str, frozenset[tuple[str, str]]], float]

    def total(self, name: str, **labels: str) -> float:
        """The sum of a metric over all labels but those given."""
        wanted = set(labels.items())
        return sum(value for (found, has), value in self.samples.items() if found == name and wanted <= has)

    def quantile(self, histogram: str, q: float, before: "Scrape") -> float | None:
        """The quantile of what was observed since `before`, straight within a bucket; None: nothing was."""
        now, then = self._buckets(histogram), before._buckets(histogram)
        counts = [(bound, now[bound] - then.get(bound, 0.0)) for bound in sorted(now)]
        rank = q * counts[-1][1] if counts else 0.0
        low, below = 0.0, 0.0
        for bound, within in counts:
            if rank and within >= rank:
                return (
                    low if bound == float("inf") else low + (bound - low) * (rank - below) / (within - below)
                )
            low, below = bound, within
        return None

    def _buckets(self, histogram: str) -> dict[float, float]:
        bounds: dict[float, float] = {}
        for (name, labels), value in self.samples.items():
            if name == f"{histogram}_bucket":
                bound = float(dict(labels)["le"])
                bounds[bound] = bounds.get(bound, 0.0) + value
        return bounds


async def scrape(*ports: int) -> Scrape:
    """Ask the workers on these ports of 127.0.0.1. Raises OSError when one does not answer."""
    texts = await asyncio.gather(*(asyncio.to_thread(_get, port) for port in ports))
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for text in texts:
        for metric in text_string_to_metric_families(text):
            for sample in metric.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                samples[key] = samples.get(key, 0.0) + sample.value
    return Scrape(samples)


def _get(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=ASK_SECONDS) as answer:
        return str(answer.read().decode())
