"""What can be done to processes, and at which moments."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from tests.chaos.arena import Field, Hit
from tests.chaos.workers import BROKER, GATEWAY, KINDS, VALKEY

MOMENT_SECONDS = 120.0
GONE_SECONDS = 60.0
T = TypeVar("T")
_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM}


@dataclass(frozen=True)
class Progress:
    """A moment by what the log shows of the run: from `least` to `most` records of `topic`."""

    topic: str = "rewards"
    least: int = 6
    most: int = 30

    async def reached(self, on: Field) -> None:
        wanted, watch = on.random.randint(self.least, self.most), on.arena.watch
        what = f"{wanted} records of the run on {self.topic}"
        await watch.until(lambda: watch.tally[on.run, self.topic] >= wanted, MOMENT_SECONDS, what)


@dataclass(frozen=True)
class Victim:
    """A process: a part of the stack or the second worker of its kind; one child of it if `child`."""

    kind: str
    second: bool = False
    child: bool = False

    def pid(self, on: Field) -> int:
        pid = on.arena.workers.pid(self.kind, self.second)
        return on.random.choice(psutil.Process(pid).children()).pid if self.child else pid

    async def workers(self, on: Field) -> tuple[tuple[str, frozenset[int]], ...]:
        """Whose progress shows that what this process did is done again."""
        everywhere = frozenset(range(on.arena.stack.settings.partitions))
        if self.kind == BROKER:
            return tuple((kind, everywhere) for kind in KINDS)
        if self.kind == VALKEY:
            return ((GATEWAY, everywhere),)
        return ((self.kind, await on.partitions(self.kind, self.second)),)

    @property
    def restarted(self) -> bool:
        """Whether the stack's supervisor starts it again when it ends."""
        return not self.second and not self.child


@dataclass(frozen=True)
class End:
    """Kill (`kill`) or stop in order (`term`) these processes, all at once.

    With a `point` there is one victim, which ends itself on its n-th passage, n between the bounds of `passage`.
    """

    victims: tuple[Victim, ...]
    point: str | None = None
    fault: str = "kill"
    after: Progress | None = Progress()
    passage: tuple[int, int] = (1, 4)

    async def strike(self, on: Field) -> None:
        if self.after is not None:
            await self.after.reached(on)
        workers = [pair for victim in self.victims for pair in await victim.workers(on)]
        pids = [victim.pid(on) for victim in self.victims]
        if self.point is None:
            for pid in pids:
                os.kill(pid, _SIGNALS[self.fault])
        else:
            await ordered(on, self.victims[0], self.point, self.fault, on.random.randint(*self.passage))
        since = time.time()
        if self.fault == "term":
            since = await gone(pids)
        on.hits.append(Hit(tuple(workers), since, since))
        for victim in self.victims:
            if victim.restarted:
                on.arena.struck[victim.kind].append(time.monotonic())


@dataclass(frozen=True)
class Forget:
    """Kill the broker, and take from its disk what it knows of the groups: members, generations, offsets."""

    after: Progress | None = Progress()

    async def strike(self, on: Field) -> None:
        await End((Victim(BROKER),), after=self.after).strike(on)
        for partition in (on.arena.stack.settings.folder / "kafka/log").glob("__consumer_offsets-*"):
            shutil.rmtree(partition)


@dataclass(frozen=True)
class Freeze:
    """Stop a process for `seconds`, at a `point` or where it happens to be; then let it go on as if nothing were."""

    victim: Victim
    seconds: float
    point: str | None = None
    after: Progress | None = Progress()

    async def strike(self, on: Field) -> None:
        if self.after is not None:
            await self.after.reached(on)
        workers, pid = await self.victim.workers(on), self.victim.pid(on)
        try:
            if self.point is None:
                os.kill(pid, signal.SIGSTOP)
            else:
                pid = await ordered(on, self.victim, self.point, "stop", 1)
            since = time.time()
            await asyncio.sleep(self.seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
        on.hits.append(Hit(workers, since, time.time() if self.victim.kind == BROKER else since))


@dataclass(frozen=True)
class Join:
    """A second worker of this kind comes."""

    kind: str
    after: Progress | None = Progress()

    async def strike(self, on: Field) -> None:
        if self.after is not None:
            await self.after.reached(on)
        await on.arena.workers.add(self.kind)


@dataclass(frozen=True)
class Leave:
    """The second worker of this kind is stopped in order."""

    kind: str
    after: Progress | None = Progress("rewards", 40, 50)

    async def strike(self, on: Field) -> None:
        if self.after is not None:
            await self.after.reached(on)
        had = await on.partitions(self.kind, second=True)
        await on.arena.workers.remove(self.kind)
        now = time.time()
        on.hits.append(Hit(((self.kind, had),), now, now))


@dataclass(frozen=True)
class Vanish:
    """The second worker of this kind goes, by SIGKILL or in order, wherever it is."""

    kind: str
    fault: str = "kill"

    async def strike(self, on: Field) -> None:
        workers = on.arena.workers
        if self.fault == "kill":
            os.kill(workers.pid(self.kind, second=True), signal.SIGKILL)
        await workers.remove(self.kind)


async def ordered(on: Field, victim: Victim, point: str, fault: str, passage: int) -> int:
    """Order a fault and wait until a process has taken it; returns its id. Raises TimeoutError."""
    folder = on.arena.workers.faults(victim.second)
    order = folder / f"{victim.kind}.{point}"
    draft = order.with_name("draft")
    draft.write_text(f"{fault} {passage}")
    draft.rename(order)
    try:
        taken = await _until(lambda: _taken(order), MOMENT_SECONDS, f"{victim.kind} did not pass {point}")
    finally:
        order.unlink(missing_ok=True)
    taken.unlink()
    return int(taken.suffix[1:])


async def gone(pids: list[int]) -> float:
    """Wait until these processes have ended; returns when. Raises TimeoutError."""
    await _until(lambda: not any(_runs(pid) for pid in pids), GONE_SECONDS, f"{pids} did not end")
    return time.time()


def _taken(order: Path) -> Path | None:
    return next(order.parent.glob(f"{order.name}.*[0-9]"), None)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def _until(look: Callable[[], T | None], seconds: float, what: str) -> T:
    end = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what} within {seconds:.0f} s")
        await asyncio.sleep(0.004)
    return found
