"""How fast trajectories that lie in the log are turned into rewards, by the CPU of the verifier-worker.

A run is played while no verifier-worker runs; then all other workers stop, and it reads the topic from the beginning,
again and again. All its processes count. The first tenth, with the start of its processes, does not.
"""

import asyncio
import time
from dataclasses import dataclass

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.log import Log
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.runs import run_requested
from benchmarks.harness.stack import Shape
from benchmarks.harness.workloads import SINGLE_TURN
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, TRAJECTORIES, VERIFIER

LOOK_SECONDS = 0.05
SECONDS = 90.0


@dataclass(frozen=True)
class Sizes:
    """Trajectories that are read, and repeats."""

    trajectories: int = 20000
    repeats: int = 5


@dataclass(frozen=True)
class Look:
    """How far the verifier-worker is, and what it has used."""

    scored: float
    cpu: float
    seconds: float


async def measure(bench: Bench, sizes: Sizes) -> None:
    stack = bench.stack
    await stack.stop(VERIFIER)
    say(f"playing {sizes.trajectories} rollouts that nobody scores")
    count = await fill(stack.deployment, sizes.trajectories)
    await stack.stop(PRODUCER, AGENT, ENV, GATEWAY)
    with bench.results.series("scoring", trajectories=count, environment=SINGLE_TURN.environment) as series:
        for repeat in range(sizes.repeats):
            await Log(stack.deployment).rewind(VERIFIER, TRAJECTORIES.name)
            await stack.start(VERIFIER)
            figures = await _score(stack.deployment, count)
            await stack.stop(VERIFIER)
            series.add(figures)
            say(f"{repeat + 1}/{sizes.repeats}: {figures}")


async def fill(deployment: Deployment, rollouts: int) -> int:
    """Have so many trajectories written; returns how many there are. All are in flight at once: none is ever scored."""
    log = Log(deployment)
    since = await log.ends(TRAJECTORIES.name)
    request = run_requested(deployment, SINGLE_TURN, rollouts, in_flight=rollouts, speed="at_once")
    await log.request(request)
    planned = request.samples * (request.limit or 0)
    async with asyncio.timeout(SECONDS):
        while (await log.losses(request.run_id, planned, since)).lost:  # noqa: ASYNC110 - it is the log that is asked
            await asyncio.sleep(1.0)
    return planned


async def _score(deployment: Deployment, count: int) -> dict[str, float]:
    first: Look | None = None
    async with asyncio.timeout(SECONDS):
        while True:
            look = await _look(deployment)
            if first is None and look.scored >= count / 10:
                first = look
            if look.scored >= count:
                break
            await asyncio.sleep(LOOK_SECONDS)
    if first is None or first.scored >= count:
        raise RuntimeError(f"{count} trajectories are too few: they were scored between two looks")
    scored = look.scored - first.scored
    return {
        "trajectories_per_second_per_core": round(scored / (look.cpu - first.cpu), 1),
        "trajectories_per_second": round(scored / (look.seconds - first.seconds), 1),
    }


async def _look(deployment: Deployment) -> Look:
    cpu = cpu_seconds({VERIFIER: deployment.pids[VERIFIER]})[VERIFIER]
    seen = await deployment.scrape(VERIFIER)
    return Look(seen.total("odradek_records_in_total", topic=TRAJECTORIES.name), cpu, time.perf_counter())


MEASUREMENT = Measurement(
    "scoring",
    measure,
    sizes=Sizes(),
    smoke=Sizes(trajectories=4000, repeats=2),
    limit_seconds=240,
    shape=Shape(),
)

if __name__ == "__main__":
    alone(MEASUREMENT)
