"""What measures: a deployment's loads, told to whoever asks."""

import asyncio
import time
from contextlib import AsyncExitStack

from aiokafka.errors import KafkaError

from odradek_runtime.brokers import Brokers
from odradek_runtime.groups import Groups, open_groups
from odradek_runtime.names import Names
from odradek_runtime.tails import Tails, open_tails
from odradek_runtime.unreachable import why_unreachable
from odradek_scaling.combining import TELLING, combine, is_whole
from odradek_scaling.load import POOLS, LoadUnknownError, PoolLoad
from odradek_scaling.outside import Outside, look
from odradek_scaling.telling import FindWorkers, Told, ask

FRESH_SECONDS = 1.0
"""For how long a measurement is told again: several who ask at once share one."""

MEASURE_SECONDS = 10.0
"""Deadline of one measurement of all pools; it takes some hundredths of a second where nothing is wrong."""

Result = PoolLoad | LoadUnknownError


class Meter:
    """Measures all pools of a deployment when somebody asks, and keeps its connections from one time to the next.

    `find_workers` None: workers are not asked; sessions, rollouts and the upstreams' limits are then not known, and
    records that workers list as begun stand in for them.
    """

    def __init__(self, brokers: Brokers, names: Names, find_workers: FindWorkers | None = None) -> None:
        self._brokers = brokers
        self._names = names
        self._find_workers = find_workers
        self._connections = AsyncExitStack()
        self._connected: tuple[Groups, Tails] | None = None
        self._turn = asyncio.Lock()
        self._at = float("-inf")
        self._results: dict[str, Result] = {}
        self._whole: dict[str, int] = {}
        self._partitions: dict[str, int] = {}

    async def load(self, pool: str) -> PoolLoad:
        """A pool's load now, or as it was a moment ago.

        Raises:
            LoadUnknownError: Kafka or the pool's workers don't answer.
        """
        result = (await self.loads())[pool]
        if isinstance(result, LoadUnknownError):
            raise LoadUnknownError(str(result))
        return result

    async def loads(self) -> dict[str, Result]:
        """All pools' loads, or for each why it can't be told."""
        async with self._turn:
            if time.monotonic() - self._at > FRESH_SECONDS:
                self._results = await self._measure()
                self._at = time.monotonic()
            return self._results

    def partitions(self, pool: str) -> int | None:
        """How many partitions a pool's topics have, which is how many workers can have work; None: not measured yet."""
        return self._partitions.get(pool)

    async def close(self) -> None:
        """Let go of the connections."""
        self._connected = None
        await self._connections.aclose()

    async def _measure(self) -> dict[str, Result]:
        try:
            async with asyncio.timeout(MEASURE_SECONDS):
                groups, tails = await self._connect()
                seen = await look(POOLS, groups, tails)
                results = await asyncio.gather(*(self._measured(pool, seen[pool]) for pool in POOLS))
                return dict(zip(POOLS, results, strict=True))
        except (KafkaError, OSError, TimeoutError, ValueError) as error:
            await self.close()
            why = f"Kafka at {self._brokers} does not answer: {await why_unreachable(self._brokers) or _told(error)}"
            return {pool: LoadUnknownError(why) for pool in POOLS}

    async def _connect(self) -> tuple[Groups, Tails]:
        if self._connected is None:
            async with AsyncExitStack() as opening:
                groups = await opening.enter_async_context(open_groups(self._brokers, self._names))
                tails = await opening.enter_async_context(open_tails(self._brokers, self._names))
                self._connected, self._connections = (groups, tails), opening.pop_all()
        return self._connected

    async def _measured(self, pool: str, outside: Outside | LoadUnknownError) -> Result:
        if isinstance(outside, LoadUnknownError):
            return outside
        self._partitions[pool] = outside.partitions
        if self._find_workers is None or pool not in TELLING:
            return combine(pool, outside, None)
        return self._weighed(pool, outside, await ask(await self._find_workers(pool)))

    def _weighed(self, pool: str, outside: Outside, told: list[Told]) -> Result:
        """A pool of which not all has been told has at least the load of what was: it may have grown, not shrunk."""
        measured = combine(pool, outside, told)
        if is_whole(pool, outside, told):
            self._whole[pool] = measured.load
        elif measured.load < self._whole.get(pool, measured.load + 1):
            owned = sum(worker.owned for worker in told)
            return LoadUnknownError(
                f"workers of {pool} that own {outside.owned - owned} of {outside.owned} partitions don't answer on /metrics"
            )
        return measured


def _told(error: BaseException) -> str:
    return (
        f"not within {MEASURE_SECONDS:g} s" if isinstance(error, TimeoutError) else str(error) or repr(error)
    )
