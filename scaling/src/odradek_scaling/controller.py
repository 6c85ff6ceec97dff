"""One pool's controller: measure, decide, set; again and again, for as long as it is well enough to."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from odradek_scaling.deciding import History, Sample, decide, kept
from odradek_scaling.load import LoadUnknownError, PoolLoad
from odradek_scaling.policy import Policy

DRIVE_SECONDS = 60.0
"""Deadline of asking a driver how many workers there are, and of telling it how many there should be."""

PATIENCE_SECONDS = 600.0
"""A controller that could do nothing for so long ends, and says why: a person, or who restarts it, must look."""


class DriverError(Exception):
    """The workers of a pool can't be counted or set; the message says why."""


class ScalingError(Exception):
    """A controller can't go on."""


class PoolDriver(Protocol):
    """Who has the workers: a supervisor, a container engine."""

    async def replicas(self, pool: str) -> int:
        """How many workers a pool is to have: those on their way count, those told to go don't.

        Raises:
            DriverError: it can't be told.
        """

    async def scale(self, pool: str, replicas: int) -> None:
        """Set it. Returns when that is under way; whoever must go finishes what it has begun.

        Raises:
            DriverError: it can't be done.
        """


class Measure(Protocol):
    """What tells loads: a `Meter`."""

    async def load(self, pool: str) -> PoolLoad:
        """A pool's load. Raises LoadUnknownError."""

    def partitions(self, pool: str) -> int | None:
        """How many workers can have work: as many as the pool's topics have partitions; None: not known yet."""


@dataclass(frozen=True)
class Step:
    """One look at a pool and what came of it. `load` None: not known; `trouble`: nothing could be done."""

    pool: str
    load: PoolLoad | None
    replicas: int | None
    wanted: int | None
    why: str
    trouble: bool = False


class Controller:
    """Scales one pool by its policy. `dry` decides and does nothing."""

    def __init__(
        self,
        pool: str,
        policy: Policy,
        measure: Measure,
        driver: PoolDriver,
        *,
        dry: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._policy = policy
        self._measure = measure
        self._driver = driver
        self._dry = dry
        self._clock = clock
        self._samples: list[Sample] = []
        self._well = clock()

    async def run(self, every_seconds: float, tell: Callable[[Step], None]) -> None:
        """Step until cancelled; the pool is then left as it is.

        Raises:
            ScalingError: nothing could be done for PATIENCE_SECONDS.
        """
        while True:
            tell(await self.step())
            await asyncio.sleep(every_seconds)

    async def step(self) -> Step:
        """One look, and what follows from it.

        Raises:
            ScalingError: nothing could be done for PATIENCE_SECONDS.
        """
        load, blind = await self._look()
        try:
            async with asyncio.timeout(DRIVE_SECONDS):
                step = await self._drive(load, blind)
        except (DriverError, TimeoutError) as error:
            why = str(error) or f"no answer within {DRIVE_SECONDS:g} s"
            step = Step(self._pool, load, None, None, why, trouble=True)
        self._note(step)
        return step

    async def _look(self) -> tuple[PoolLoad | None, str]:
        try:
            load, blind = await self._measure.load(self._pool), ""
        except LoadUnknownError as error:
            load, blind = None, str(error)
        now = self._clock()
        sample = Sample(now, None if load is None else load.load)
        self._samples = kept([*self._samples, sample], self._policy, now)
        return load, blind

    async def _drive(self, load: PoolLoad | None, blind: str) -> Step:
        replicas = await self._driver.replicas(self._pool)
        history = History(self._samples, replicas, self._measure.partitions(self._pool))
        decision = decide(history, self._policy, self._clock())
        if decision.replicas != replicas and not self._dry:
            await self._driver.scale(self._pool, decision.replicas)
        why = f"{decision.why}: {blind}" if blind else decision.why
        return Step(self._pool, load, replicas, decision.replicas, why, trouble=bool(blind))

    def _note(self, step: Step) -> None:
        if not step.trouble:
            self._well = self._clock()
        elif self._clock() - self._well > PATIENCE_SECONDS:
            raise ScalingError(f"{step.pool} could not be scaled for {PATIENCE_SECONDS:g} s: {step.why}")
