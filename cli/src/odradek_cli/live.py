"""How work stands, again and again: pools with their rates, runs under way, models, and what has waited longest."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from odradek_cli.deployment import Deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Log, open_log
from odradek_cli.models_told import ModelNow, Told, read_told, since
from odradek_cli.pools import LocalPools
from odradek_cli.runs import load_run
from odradek_cli.runs_under_way import RunNow, RunsUnderWay, following
from odradek_cli.standing import Standing
from odradek_cli.survey import look_around
from odradek_scaling.load import LoadUnknownError, PoolLoad
from odradek_scaling.meter import Meter
from odradek_scaling.telling import texts
from odradek_schemas.topics import GATEWAY

TELL_SECONDS = 1.0
"""Deadline of a gateway's answer on `/metrics`."""


@dataclass(frozen=True)
class PoolNow:
    """One pool. `load`: or why it can't be measured. `per_second`: how many offsets it passed since the last look (markers
    count); None: not known yet."""

    load: PoolLoad | LoadUnknownError
    per_second: float | None


@dataclass(frozen=True)
class Picture:
    """How work stood `at` some moment. `problem`: why it could not be looked at since; then all else is the last look's."""

    at: datetime
    pools: Mapping[str, PoolNow] = field(default_factory=dict)
    runs: tuple[RunNow, ...] = ()
    models: Mapping[str, ModelNow] = field(default_factory=dict)
    standing: Standing | None = None
    problem: str | None = None


async def pictures(
    find: Callable[[], Deployment], run_id: str | None, most: int, within: float, every: float
) -> AsyncGenerator[Picture, None]:
    """A picture every so many seconds, for ever; `find` is asked anew after each problem.

    Raises:
        CliError: there is no such run, or a setting is wrong. That Kafka or the stack is away is told, and waited out.
    """
    last = Picture(datetime.now(UTC))
    while True:
        try:
            async with AsyncExitStack() as opened:
                deployment = find()
                log = await opened.enter_async_context(open_log(deployment))
                if run_id is not None:
                    await load_run(log, run_id, within)
                runs = await opened.enter_async_context(following(deployment))
                meter = await opened.enter_async_context(_metering(deployment))
                looks = _Looks(log, runs, meter, run_id, most, within)
                while True:
                    last = await looks.look()
                    yield last
                    await asyncio.sleep(every)
        except CliError as error:
            if error.code is not Exit.NO_STACK:
                raise
            last = replace(last, problem=str(error))
            yield last
            await asyncio.sleep(every)


@asynccontextmanager
async def _metering(deployment: Deployment) -> AsyncIterator[Meter]:
    """What autoscalers go by. Only the local stack's workers are asked what they hold: others can't be reached from here."""
    find = LocalPools().workers if deployment.local else None
    meter = Meter(deployment.brokers, deployment.names, find)
    try:
        yield meter
    finally:
        await meter.close()


class _Looks:
    """One look after another, with what the last one saw."""

    def __init__(
        self, log: Log, runs: RunsUnderWay, meter: Meter, run_id: str | None, most: int, within: float
    ) -> None:
        self._log = log
        self._runs = runs
        self._meter = meter
        self._run_id = run_id
        self._most = most
        self._within = within
        self._at: datetime | None = None
        self._passed: dict[str, int] = {}
        self._told: dict[str, Told] = {}

    async def look(self) -> Picture:
        at = datetime.now(UTC)
        standing, loads, told = await asyncio.gather(
            look_around(self._log, self._run_id, self._most, self._within),
            self._meter.loads(),
            _told_locally(self._log.deployment),
        )
        seconds = (at - self._at).total_seconds() if self._at else 0.0
        pools = {
            pool: PoolNow(load, rate(self._passed.get(pool), standing.passed[pool], seconds))
            for pool, load in loads.items()
        }
        models = since(self._told, told, seconds)
        self._at, self._told, self._passed = at, told, standing.passed
        return Picture(at, pools, self._runs.now(self._run_id), models, standing)


def rate(before: int | None, now: int, seconds: float) -> float | None:
    """Per second; None where there is no before."""
    return max(0, now - before) / seconds if before is not None and seconds > 0 else None


async def _told_locally(deployment: Deployment) -> dict[str, Told]:
    """What the local stack's gateways tell of their models; nothing of other deployments."""
    places = await LocalPools().workers(GATEWAY) if deployment.local else []
    return read_told(await texts(places, TELL_SECONDS))
