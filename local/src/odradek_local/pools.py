"""How many replicas each pool of a running stack has: what was asked for is done, one pool beside the other."""

import asyncio
import logging
from collections.abc import Iterable

from odradek_local.keeper import Keeper
from odradek_local.ports import turn_to_choose
from odradek_local.process import ProcessError
from odradek_local.service import name_of
from odradek_local.settings import POOLS, check_scale
from odradek_local.stack import Part, Stack
from odradek_local.state import asked_for

log = logging.getLogger(__name__)


class Pools:
    """Adds and removes replicas. The last ones started are the first to go."""

    def __init__(self, stack: Stack, keeper: Keeper):
        self._stack = stack
        self._keeper = keeper
        self._changed = {pool: asyncio.Event() for pool in POOLS}
        self._scale = keeper.state.scale
        self._scale.update({pool: stack.settings.scale.get(pool, 1) for pool in POOLS})

    def look(self) -> None:
        """Somebody has asked for something (`state.ask_for`)."""
        for pool, replicas in self._wanted().items():
            if replicas != self._scale[pool]:
                log.info("%s: %d replicas instead of %d", pool, replicas, self._scale[pool])
                self._scale[pool] = replicas
                self._changed[pool].set()
            self._keeper.state.scale_errors.pop(pool, None)
        self._keeper.state.scale_looks += 1
        self._keeper.report()

    async def follow(self) -> None:
        """Does what is asked for, until cancelled."""
        self.look()
        await asyncio.gather(*(self._follow(pool) for pool in POOLS))

    async def _follow(self, pool: str) -> None:
        while True:
            await self._changed[pool].wait()
            self._changed[pool].clear()
            there = self._keeper.replicas(pool)
            await asyncio.gather(*(self._keeper.remove(part) for part in there[self._scale[pool] :]))
            await self._add(pool, _free_numbers(pool, there, self._scale[pool] - len(there)))

    def _wanted(self) -> dict[str, int]:
        """What was asked for; nothing, where it makes no sense."""
        settings = self._stack.settings
        try:
            wanted = asked_for(settings.folder)
            check_scale(wanted, settings.partitions)
        except (ValueError, OSError) as error:
            log.error("what was asked of the pools is not done: %s", error)
            return {}
        return wanted

    async def _add(self, pool: str, numbers: Iterable[int]) -> None:
        """Starts more replicas. Where one does not become healthy that is said, and the pool is as large as it is."""
        parts: list[Part] = []
        try:
            async with turn_to_choose():
                parts = [self._stack.replica(pool, number) for number in numbers]
                await asyncio.gather(*(self._keeper.add(part) for part in parts))
        except (ProcessError, TimeoutError) as error:
            log.error("%s", error)
            self._scale[pool] = len(self._keeper.replicas(pool))
            self._keeper.state.scale_errors[pool] = str(error)
            self._keeper.report()


def _free_numbers(pool: str, there: Iterable[Part], more: int) -> list[int]:
    """The lowest numbers that no replica has."""
    taken = {part.name for part in there}
    free = [number for number in range(len(taken) + max(0, more)) if name_of(pool, number) not in taken]
    return free[: max(0, more)]
