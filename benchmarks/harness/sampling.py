"""Watching a stack while a run plays: memory and CPU of every component, and how many rollouts are scored."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.measurement import say
from benchmarks.harness.processes import cpu_seconds, memory
from odradek_schemas.topics import TRAJECTORIES, VERIFIER

SAY_SECONDS = 15.0


@dataclass(frozen=True)
class Sample:
    """One look. `rss` in MB and `cpu` in seconds by component; `scored` rollouts since the watch began."""

    seconds: float
    scored: float
    rss: dict[str, float]
    cpu: dict[str, float]


@asynccontextmanager
async def watching(deployment: Deployment, every_seconds: float) -> AsyncIterator[list[Sample]]:
    """The samples so far, the first taken before the body begins and the last after it has ended."""
    started, before = time.perf_counter(), await _scored(deployment)

    async def look() -> None:
        used, spent = memory(deployment.pids), cpu_seconds(deployment.pids)
        rss = {name: round(of.rss, 1) for name, of in used.items()}
        scored = await _scored(deployment) - before
        samples.append(Sample(round(time.perf_counter() - started, 2), scored, rss, spent))

    async def look_on() -> None:
        said = 0.0
        while True:
            await asyncio.sleep(every_seconds)
            await look()
            if samples[-1].seconds - said > SAY_SECONDS:
                said = samples[-1].seconds
                say(f"{samples[-1].scored:.0f} rollouts scored")

    samples: list[Sample] = []
    await look()
    watch = asyncio.create_task(look_on())
    try:
        yield samples
        await look()
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


def cpu_at(samples: list[Sample], scored: float) -> dict[str, float]:
    """Seconds of CPU by component at the moment when so many rollouts were scored, straight between two samples."""
    for earlier, later in pairwise(samples):
        if earlier.scored <= scored <= later.scored and later.scored > earlier.scored:
            share = (scored - earlier.scored) / (later.scored - earlier.scored)
            return {name: cpu + share * (later.cpu[name] - cpu) for name, cpu in earlier.cpu.items()}
    raise ValueError(f"{scored:.0f} scored rollouts were never passed: {[s.scored for s in samples[-3:]]}")


async def _scored(deployment: Deployment) -> float:
    seen = await deployment.scrape(VERIFIER)
    return seen.total("odradek_records_in_total", topic=TRAJECTORIES.name)
