"""Where scenarios are played: a stack, its processes, and a reader who sees everything."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from odradek_local.restarts import MOST, WITHIN_S
from tests.chaos.disks import small_disks
from tests.chaos.scenario import Ground, Scenario
from tests.chaos.watch import Watch
from tests.chaos.workers import Workers
from tests.support.stack import RunningStack, running_stack

SETTLE_SECONDS = 120.0


@dataclass
class Arena:
    """A stack that is up. `struck` has the times at which its supervisor had to restart a part."""

    stack: RunningStack
    folder: Path
    watch: Watch
    workers: Workers
    struck: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    async def rested(self, most: int = 3) -> None:
        """Wait until the supervisor would restart any part `most` times: it gives up on what dies too often."""
        latest = [times[-(MOST - most) - 1] for times in self.struck.values() if len(times) > MOST - most]
        await asyncio.sleep(max(latest, default=0.0) + WITHIN_S - time.monotonic())


@dataclass(frozen=True)
class Hit:
    """A fault that has been caused.

    Progress is what workers of these kinds write to these partitions from `since` on, and the time it takes counts
    from `mended`: the same moment, unless nobody can go on before the fault itself is over.
    """

    workers: tuple[tuple[str, frozenset[int]], ...]
    since: float
    mended: float


@dataclass
class Field:
    """One scenario while it is played. What its strikes know and tell."""

    arena: Arena
    scenario: Scenario
    random: Random
    run: str
    hits: list[Hit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def partitions(self, kind: str, second: bool = False) -> frozenset[int]:
        """Those of a worker, or what it had before an earlier hit when it has none now."""
        found = await self.arena.workers.partitions(kind, second)
        before = [numbers for hit in self.hits for name, numbers in hit.workers if name == kind]
        return found or (before[-1] if before else frozenset())


@asynccontextmanager
async def opened(stack: RunningStack, folder: Path) -> AsyncIterator[Arena]:
    """An arena on a stack that runs; `folder` is there."""
    workers, watch = Workers(stack, folder), Watch(stack.log)
    await watch.start()
    try:
        await workers.settled(SETTLE_SECONDS)
        yield Arena(stack, folder, watch, workers)
    finally:
        await workers.remove_all()
        await watch.stop()


@asynccontextmanager
async def built(ground: Ground, folder: Path) -> AsyncIterator[Arena]:
    """An arena on a stack of its own, with its data and logs in `folder`."""
    with (
        small_disks(folder, ground.disks),
        running_stack(folder, ground.environment, local_model=False) as stack,
    ):
        async with opened(stack, folder) as arena:
            yield arena
