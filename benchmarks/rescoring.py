"""How fast trajectories are scored again, by the CPU of the verifier-worker.

The trajectories of a run lie in the log; only the verifier-worker runs. Re-scores of all of them are asked for, one
after another: the first one, with the start of the verifier processes, does not count. All the worker's processes do.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.log import Log, Offsets, event_of
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.stack import Shape
from benchmarks.harness.workloads import SINGLE_TURN
from benchmarks.scoring import fill
from odradek_schemas.codec import encode
from odradek_schemas.events import RescoreFinished, RescoreRequested
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, RESCORES, TRAJECTORIES, VERIFIER

SECONDS = 120.0
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Sizes:
    """Trajectories that are scored again, and repeats."""

    trajectories: int = 20000
    repeats: int = 5


async def measure(bench: Bench, sizes: Sizes) -> None:
    stack = bench.stack
    say(f"playing {sizes.trajectories} rollouts")
    count = await fill(stack.deployment, sizes.trajectories)
    await stack.stop(PRODUCER, AGENT, ENV, GATEWAY)
    await _rescored(stack.deployment, "warm")
    with bench.results.series("rescoring", trajectories=count, environment=SINGLE_TURN.environment) as series:
        for repeat in range(sizes.repeats):
            figures = await _rescored(stack.deployment, f"repeat-{repeat}")
            series.add(figures)
            say(f"{repeat + 1}/{sizes.repeats}: {figures}")


async def _rescored(deployment: Deployment, name: str) -> dict[str, float]:
    """Score everything again, and say how fast it went."""
    log = Log(deployment)
    since = await log.ends(RESCORES.name)
    pids = {VERIFIER: deployment.pids[VERIFIER]}
    cpu, began = cpu_seconds(pids)[VERIFIER], time.perf_counter()
    asked = await _ask(deployment, log, name)
    async with asyncio.timeout(SECONDS):
        while True:
            ended = [event async for event in _finished(log, name, since)]
            if len(ended) == asked:
                break
            await asyncio.sleep(LOOK_SECONDS)
    scored = sum(event.counts.scored for event in ended)
    return {
        "trajectories_per_second_per_core": round(scored / (cpu_seconds(pids)[VERIFIER] - cpu), 1),
        "trajectories_per_second": round(scored / (time.perf_counter() - began), 1),
    }


async def _finished(log: Log, name: str, since: Offsets) -> AsyncIterator[RescoreFinished]:
    async for raw in log.records(since):
        event = event_of(RESCORES.name, raw)
        if isinstance(event, RescoreFinished) and event.rescore_id == name:
            yield event


async def _ask(deployment: Deployment, log: Log, name: str) -> int:
    """Ask of every partition; returns how many there are."""
    ends = await log.ends(TRAJECTORIES.name)
    async with AIOKafkaProducer(bootstrap_servers=deployment.bootstrap) as producer:
        for place, end in ends.items():
            request = RescoreRequested(
                id=f"{name}/{place.partition}/0",
                rescore_id=name,
                partition=place.partition,
                start=0,
                end=end,
            )
            record = encode(request, "benchmarks")
            await producer.send_and_wait(
                log.names.topic(RESCORES.name),
                record.value,
                record.key,
                place.partition,
                headers=list(record.headers),
            )
    return len(ends)


MEASUREMENT = Measurement(
    "rescoring",
    measure,
    sizes=Sizes(),
    smoke=Sizes(trajectories=4000, repeats=2),
    limit_seconds=300,
    shape=Shape(),
)

if __name__ == "__main__":
    alone(MEASUREMENT)
