"""What can be done to what the workers lean on: model servers, the memory of a process, a disk."""

import asyncio
import os
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import psutil

from odradek_local.state import PartState
from odradek_local.supervisor import down, up
from odradek_schemas.events import RunFinished
from tests.chaos.arena import Field, Hit
from tests.chaos.disks import fill, free
from tests.chaos.strikes import Progress
from tests.chaos.workers import GATEWAY, KINDS

FAILING_SECONDS = 240.0
ENOUGH_RESTARTS = 3
SOMETIME = Progress()


@dataclass(frozen=True)
class ModelsAnswerBy:
    """For `seconds`, or to the run's end, all models answer by this script."""

    script: str
    seconds: float | None
    after: Progress = SOMETIME

    async def strike(self, on: Field) -> None:
        await self.after.reached(on)
        for model in on.arena.stack.models:
            await asyncio.to_thread(model.answer_by, self.script)
        try:
            await _pass(on, self.seconds)
        finally:
            for model in on.arena.stack.models:
                await asyncio.to_thread(model.answer_by, None)
        on.hits.append(_mended(on))


@dataclass(frozen=True)
class ModelsDown:
    """For `seconds`, or to the run's end, no model's server is there: connections are refused."""

    seconds: float | None
    after: Progress = SOMETIME

    async def strike(self, on: Field) -> None:
        await self.after.reached(on)
        for model in on.arena.stack.models:
            model.kill()
        try:
            await _pass(on, self.seconds)
        finally:
            for model in on.arena.stack.models:
                await asyncio.to_thread(model.start_again)
        on.hits.append(_mended(on))


@dataclass(frozen=True)
class BoundMemory:
    """From now to the run's end this worker may have so much more address space than it has."""

    kind: str
    more_mib: int = 512

    async def strike(self, on: Field) -> None:
        pid = on.arena.workers.pid(self.kind)
        before = resource.prlimit(pid, resource.RLIMIT_AS)
        bound = psutil.Process(pid).memory_info().vms + (self.more_mib << 20)
        resource.prlimit(pid, resource.RLIMIT_AS, (bound, before[1]))
        try:
            await _pass(on, None)
        finally:
            resource.prlimit(pid, resource.RLIMIT_AS, before)


@dataclass(frozen=True)
class Deaths:
    """Nothing but the word that what the run does by itself ends this part so many times."""

    kind: str
    times: int

    async def strike(self, on: Field) -> None:
        on.arena.struck[self.kind] += [time.monotonic()] * self.times


@dataclass(frozen=True)
class FillDisk:
    """Fill a disk of the stack's for `seconds`."""

    disk: str
    seconds: float
    after: Progress = SOMETIME

    async def strike(self, on: Field) -> None:
        async with _filled(on, self.disk, self.after):
            await _pass(on, self.seconds)
        on.hits.append(_mended(on, *KINDS))


@dataclass(frozen=True)
class FillDiskForGood:
    """Fill a disk until workers say that they can't go on; then give the space back and start the stack again."""

    disk: str
    says: str
    after: Progress = SOMETIME

    async def strike(self, on: Field) -> None:
        async with _filled(on, self.disk, self.after):
            await failing(on, self.says)
        await restarted(on)
        on.hits.append(_mended(on, *KINDS))


@asynccontextmanager
async def _filled(on: Field, name: str, after: Progress) -> AsyncIterator[None]:
    """A disk of the stack's that has no room left, from the moment `after` on."""
    disk = disk_of(on, name)
    await after.reached(on)
    await asyncio.to_thread(fill, disk)
    try:
        yield
    finally:
        await asyncio.to_thread(free, disk)


async def failing(on: Field, says: str, part: str | None = None) -> None:
    """Wait until parts of the stack (or `part`) have ended again and again, and one says why: `says`."""
    before = sum(found.restarts for found in _parts(on, part))
    end = time.monotonic() + FAILING_SECONDS
    while sum(found.restarts for found in _parts(on, part)) < before + ENOUGH_RESTARTS:
        if time.monotonic() > end:
            raise TimeoutError(f"nothing ended {ENOUGH_RESTARTS} times within {FAILING_SECONDS:.0f} s")
        await asyncio.sleep(0.2)
    if not any(says in found.log.read_text(errors="replace") for found in _parts(on, part)):
        raise LookupError(f"{part or 'parts'} ended, and no log says {says!r}: {on.arena.stack.state.error}")


def _parts(on: Field, part: str | None) -> list[PartState]:
    return [found for found in on.arena.stack.state.parts if part in (None, found.name)]


async def restarted(on: Field) -> None:
    """Stop the stack, and start it again at the same addresses."""
    stack = on.arena.stack
    port = int(stack.log.bootstrap.rpartition(":")[2])
    await asyncio.to_thread(down, stack.settings)
    environment = {"ODRADEK_FAULTS": str(stack.faults), **on.scenario.ground.environment}
    with mock.patch.dict(os.environ, environment):
        await asyncio.to_thread(up, stack.settings.model_copy(update={"kafka_port": port}))


def disk_of(on: Field, name: str) -> Path:
    return on.arena.stack.settings.folder.parent / name


def _mended(on: Field, *kinds: str) -> Hit:
    """The fault is over now. Whoever worked under it goes on."""
    everywhere = frozenset(range(on.arena.stack.settings.partitions))
    now = time.time()
    return Hit(tuple((kind, everywhere) for kind in kinds or (GATEWAY,)), now, now)


async def _pass(on: Field, seconds: float | None) -> None:
    if seconds is not None:
        await asyncio.sleep(seconds)
        return
    watch, run = on.arena.watch, on.run

    def ended() -> bool:
        return any(isinstance(sight.event, RunFinished) for sight in watch.of(run, "runs"))

    await watch.until(ended, on.scenario.deadline_seconds, f"the end of run {run}")
