"""Autoscaling from the command line: a controller a pool, and what each look came to."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from odradek_cli.deployment import Deployment
from odradek_cli.output import note, print_json, print_line, say
from odradek_cli.pools import LocalPools
from odradek_runtime.logs import configure_logs
from odradek_scaling.choices import PolicyError, chosen
from odradek_scaling.containers import ComposePools
from odradek_scaling.controller import Controller, DriverError, PoolDriver, ScalingError, Step
from odradek_scaling.meter import Meter
from odradek_scaling.policy import Policies
from odradek_scaling.telling import Address

__all__ = ["DriverError", "PolicyError", "ScalingError", "autoscale", "chosen"]


class Pools(PoolDriver, Protocol):
    """Where the workers are, and who counts and sets them."""

    async def workers(self, pool: str) -> Sequence[Address]: ...

    async def close(self) -> None: ...


async def autoscale(
    policies: Policies,
    deployment: Deployment,
    project: str | None,
    every: float,
    *,
    dry: bool,
    once: bool,
    json: bool,
) -> None:
    """Scale the local stack, or a compose project, until told to end; `once`: look once.

    Raises:
        DriverError, ScalingError: it can't be begun, or can't go on.
    """
    configure_logs("autoscale", "warning", "console")
    async with _opened(project) as pools, _measuring(deployment, pools) as meter:
        controllers = [
            Controller(pool, policy, meter, pools, dry=dry) for pool, policy in policies.pools.items()
        ]
        if once:
            steps = [await controller.step() for controller in controllers]
            _show_once(steps, json)
            require_some_load(steps)
            return
        note("autoscaling; Ctrl-C ends it and leaves the pools as they are")
        await _until_told(controllers, every, _json_line if json else Lines().tell)


@asynccontextmanager
async def _opened(project: str | None) -> AsyncIterator[Pools]:
    pools: Pools = LocalPools() if project is None else await asyncio.to_thread(ComposePools, project)
    try:
        yield pools
    finally:
        await pools.close()


@asynccontextmanager
async def _measuring(deployment: Deployment, pools: Pools) -> AsyncIterator[Meter]:
    meter = Meter(deployment.brokers, deployment.names, pools.workers)
    try:
        yield meter
    finally:
        await meter.close()


async def _until_told(controllers: Sequence[Controller], every: float, tell: Callable[[Step], None]) -> None:
    """Run the controllers until SIGINT or SIGTERM.

    Raises:
        ScalingError: one of them can't go on.
    """
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    running = [asyncio.ensure_future(controller.run(every, tell)) for controller in controllers]
    waiting = asyncio.ensure_future(told.wait())
    done, _ = await asyncio.wait([waiting, *running], return_when=asyncio.FIRST_COMPLETED)
    for task in (waiting, *running):
        task.cancel()
    await asyncio.wait([waiting, *running])
    for task in done:
        task.result()


class Lines:
    """A line for each look that is unlike the one before."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[object, ...]] = {}

    def tell(self, step: Step) -> None:
        news = (step.load, step.replicas, step.wanted)
        if self._told.get(step.pool) != news:
            self._told[step.pool] = news
            say(f"{datetime.now():%H:%M:%S} {line(step)}")


def line(step: Step) -> str:
    """One look, for a person."""
    load = "load unknown" if step.load is None else _load_text(step)
    if step.replicas is None:
        return f"{step.pool:<15} {load}: {step.why}"
    change = "" if step.wanted == step.replicas else f" -> {step.wanted}"
    return f"{step.pool:<15} {load}, workers {step.replicas}{change}: {step.why}"


def _load_text(step: Step) -> str:
    assert step.load is not None
    return (
        f"load {step.load.load} (backlog {step.load.backlog}, in flight {step.load.in_flight}, "
        f"{step.load.members} alive)"
    )


def _show_once(steps: Sequence[Step], json: bool) -> None:
    if json:
        print_json([as_json(step) for step in steps])
    else:
        for step in steps:
            say(line(step))


def require_some_load(steps: Sequence[Step]) -> None:
    """Raises ScalingError: no pool's load is known. A script would take that for a look that went well."""
    if all(step.load is None for step in steps):
        raise ScalingError("no pool's load is known; above is why")


def _json_line(step: Step) -> None:
    print_line({"time": datetime.now().astimezone().isoformat(timespec="milliseconds"), **as_json(step)})


def as_json(step: Step) -> dict[str, Any]:
    load = None if step.load is None else step.load.model_dump(exclude={"pool"})
    return asdict(step) | {"load": load}
