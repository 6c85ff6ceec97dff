"""Does a rollout cost the same with more workers and with more partitions? Where it does not, by which component?

First 1, 2 and 4 workers of each kind on the same stack of four partitions; then stacks of 4 to 32 partitions with one
worker of each kind. It is CPU per rollout that is compared: the machine stays the same, so the rate can't grow.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.machine import WORKERS
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import play
from benchmarks.harness.stack import RunningStack, Shape, running, settled
from benchmarks.harness.workloads import BOTH, Workload
from benchmarks.volume import committed


@dataclass(frozen=True)
class Sizes:
    """Rollouts of one run by workload, of the warm-up, repeats, and what is compared."""

    single_turn: int = 6000
    multi_step: int = 2000
    warm_up: int = 8000
    repeats: int = 3
    workers: tuple[int, ...] = (1, 2, 4)
    partitions: tuple[int, ...] = (8, 16, 32)
    in_flight: int = 2000

    def of(self, work: Workload) -> int:
        return int(getattr(self, work.name))


async def measure(bench: Bench, sizes: Sizes) -> None:
    async with _stack(bench, partitions=4) as stack:
        await _workers(bench, stack, sizes)
    for partitions in sizes.partitions:
        async with _stack(bench, partitions) as stack:
            await _warm(stack.deployment, sizes)
            await _costs(bench, stack.deployment, sizes, f"scaling.partitions.{partitions}")


@asynccontextmanager
async def _stack(bench: Bench, partitions: int) -> AsyncIterator[RunningStack]:
    """A stack with new data; only one at a time, since even one at rest costs something."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        say(f"starting a stack with {partitions} partitions")
        async with running(Shape(partitions=partitions), Path(folder)) as stack:
            yield stack


async def _workers(bench: Bench, stack: RunningStack, sizes: Sizes) -> None:
    """The stack with one worker of each kind is the one with four partitions, too."""
    await _warm(stack.deployment, sizes)
    for workers in sizes.workers:
        for kind in WORKERS:
            await stack.grow(kind, workers)
        await settled(stack.deployment)
        if workers > 1:
            await _warm(stack.deployment, sizes, share=4)
        await _costs(bench, stack.deployment, sizes, f"scaling.workers.{workers}")


async def _warm(deployment: Deployment, sizes: Sizes, share: int = 1) -> None:
    for work in BOTH:
        rollouts = max(400, sizes.warm_up // work.calls // share)
        say(f"{work.name}: warming up with {rollouts} rollouts")
        await play(deployment, work, rollouts, check=False)


async def _costs(bench: Bench, deployment: Deployment, sizes: Sizes, name: str) -> None:
    for work in BOTH:
        rollouts = sizes.of(work)
        with bench.results.series(
            f"{name}.{work.name}", rollouts=rollouts, in_flight=sizes.in_flight
        ) as series:
            for _ in range(sizes.repeats):
                before = (await committed(deployment)).total()
                played = await play(deployment, work, rollouts, in_flight=sizes.in_flight)
                transactions = ((await committed(deployment)).total() - before) / rollouts
                series.add(played.figures | {"transactions_per_rollout": round(transactions, 3)})
        cost = series.summary()["cpu_ms_per_rollout"]
        say(f"{name}: {work.name} {cost['median']} ms ({cost['min']} to {cost['max']})")


MEASUREMENT = Measurement(
    "scaling",
    measure,
    sizes=Sizes(),
    smoke=Sizes(400, 400, warm_up=400, repeats=1, workers=(1, 2), partitions=(8,), in_flight=400),
    limit_seconds=1200,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
