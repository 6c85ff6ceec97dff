"""What a rollout leaves on the broker's disk, by topic, and how many transactions it takes: crowded, and almost alone.

Crowded: 2,000 in flight and a model that answers at once, so that a transaction carries much. Sparse: two in flight
and a model that takes 250 ms, so that hardly two events share one: the most that a rollout can take.

Bytes are those of the topics' segment files, headers and transaction markers included, uncompressed as workers write
them. It is also what the broker receives; each topic is sent once to each kind of worker that reads it.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import IN_FLIGHT, play
from benchmarks.harness.stack import AT_ONCE
from benchmarks.harness.workloads import BOTH, Workload
from benchmarks.throughput import STANDARD, warm_up

SPARSE = 2
"""Rollouts in flight of the sparse run."""
BROKER_S_OWN = "broker's own"
_PARTITION = re.compile(r"(?P<topic>.+)-\d+")


@dataclass(frozen=True)
class Sizes:
    """Rollouts of a crowded run and of a sparse one, and of the warm-up."""

    crowded: int = 2000
    sparse: int = 40
    warm_up: int = 4000


async def measure(bench: Bench, sizes: Sizes) -> None:
    for work in BOTH:
        await warm_up(bench, work, sizes.warm_up // work.calls)
        await _play(bench, work, "crowded", sizes.crowded, IN_FLIGHT, AT_ONCE.name)
        await _play(bench, work, "sparse", sizes.sparse, SPARSE, "slow")


async def _play(bench: Bench, work: Workload, name: str, rollouts: int, in_flight: int, speed: str) -> None:
    deployment = bench.stack.deployment
    setting = {"rollouts": rollouts, "in_flight": in_flight}
    with bench.results.series(f"volume.{name}.{work.name}", **setting) as series:
        before, transactions = stored(bench.folder, deployment.prefix), await committed(deployment)
        played = await play(deployment, work, rollouts, in_flight=in_flight, speed=speed)
        after = stored(bench.folder, deployment.prefix)
        each = {topic: (size - before[topic]) / played.rollouts for topic, size in after.items()}
        taken = {
            kind: (count - transactions[kind]) / played.rollouts
            for kind, count in (await committed(deployment)).items()
        }
        series.add(
            played.figures
            | {f"bytes:{topic}": round(size, 1) for topic, size in sorted(each.items()) if size >= 1}
            | {f"transactions:{kind}": round(count, 3) for kind, count in taken.items()}
            | {
                "bytes_per_rollout": round(sum(each.values())),
                "transactions_per_rollout": round(sum(taken.values()), 3),
            }
        )
        say(
            f"{name} {work.name}: {sum(each.values()):.0f} bytes and {sum(taken.values()):.2f} transactions a rollout"
        )


def stored(folder: Path, prefix: str) -> Mapping[str, int]:
    """Bytes in the segments of each topic, by its logical name; what is not ours is the broker's own."""
    sizes: Counter[str] = Counter()
    for segment in folder.glob("data/kafka/**/*.log"):
        found = _PARTITION.fullmatch(segment.parent.name)
        if found:
            topic = found["topic"]
            sizes[topic.removeprefix(prefix) if topic.startswith(prefix) else BROKER_S_OWN] += (
                segment.stat().st_size
            )
    return sizes


async def committed(deployment: Deployment) -> Counter[str]:
    """How many transactions the workers of each kind have committed."""
    seen = {kind: await deployment.scrape(kind) for kind in deployment.ports}
    return Counter({kind: of.total("odradek_transactions_total") for kind, of in seen.items()})


MEASUREMENT = Measurement(
    "volume",
    measure,
    sizes=Sizes(),
    smoke=Sizes(crowded=400, sparse=10, warm_up=400),
    limit_seconds=900,
    shape=STANDARD,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
