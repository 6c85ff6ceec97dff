"""How work stands, again and again: pools with their rates, runs under way, models, and what has waited longest."""

import asyncio
import urllib.request
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from odradek_cli import local
from odradek_cli.deployment import Deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Log, open_log
from odradek_cli.models_told import ModelNow, Told, read_told, since
from odradek_cli.runs import load_run
from odradek_cli.runs_under_way import RunNow, RunsUnderWay, following
from odradek_cli.standing import Standing
from odradek_cli.survey import look_around
from odradek_schemas.topics import GATEWAY

TELL_SECONDS = 1.0
"""Deadline of a gateway's answer on `/metrics`."""


@dataclass(frozen=True)
class PoolNow:
    """One pool. `per_second`: how many offsets it passed since the last look (markers count); None: not known yet."""

    members: int
    waiting: int
    begun: int
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
                looks = _Looks(log, runs, run_id, most, within)
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


class _Looks:
    """One look after another, with what the last one saw."""

    def __init__(self, log: Log, runs: RunsUnderWay, run_id: str | None, most: int, within: float) -> None:
        self._log = log
        self._runs = runs
        self._run_id = run_id
        self._most = most
        self._within = within
        self._at: datetime | None = None
        self._passed: dict[str, int] = {}
        self._told: dict[str, Told] = {}

    async def look(self) -> Picture:
        at = datetime.now(UTC)
        standing = await look_around(self._log, self._run_id, self._most, self._within)
        told = await asyncio.to_thread(_told_locally, self._log.deployment)
        seconds = (at - self._at).total_seconds() if self._at else 0.0
        pools = {
            worker: PoolNow(
                len(standing.workers[worker]),
                pool.waiting,
                pool.begun,
                rate(self._passed.get(worker), pool.passed, seconds),
            )
            for worker, pool in standing.pools.items()
        }
        models = since(self._told, told, seconds)
        self._at, self._told = at, told
        self._passed = {worker: pool.passed for worker, pool in standing.pools.items()}
        return Picture(at, pools, self._runs.now(self._run_id), models, standing)


def rate(before: int | None, now: int, seconds: float) -> float | None:
    """Per second; None where there is no before."""
    return max(0, now - before) / seconds if before is not None and seconds > 0 else None


def _told_locally(deployment: Deployment) -> dict[str, Told]:
    """What the local stack's gateways tell of their models; nothing of other deployments, whose workers are not reached."""
    state = local.stack_state() if deployment.local else None
    ports = [part.port for part in state.parts if part.pool == GATEWAY] if state else []
    texts = []
    for port in ports:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TELL_SECONDS) as answer:
                texts.append(answer.read().decode())
        except OSError:
            continue  # it starts, or it is gone: the table of workers says so
    return read_told(texts)
