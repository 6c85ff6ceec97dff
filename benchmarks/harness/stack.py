"""The stack under measurement: broker, workers and scripted models as children of this process.

The kernel ends them with this process, however that ends: nothing is left to spoil the next measurement.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.machine import ROOT
from odradek.models import ModelSettings
from odradek_local.health import until_healthy
from odradek_local.ports import free_port, turn_to_choose
from odradek_local.process import Process
from odradek_local.service import SERVICES, Service
from odradek_local.settings import LocalSettings
from odradek_local.stack import Part, Stack
from odradek_runtime.access import Signer
from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import apply_topics

SCRIPTS = ("instant", "tool_loop")
HEALTHY_SECONDS = 90.0
_NEEDS = {needs.name: needs for needs in SERVICES}


class Speed(NamedTuple):
    """How long a scripted model server takes: `spread` 0.5 is from half to one and a half times `milliseconds`."""

    name: str
    milliseconds: int
    spread: float = 0.0


AT_ONCE = Speed("at_once", 0)


@dataclass(frozen=True)
class Shape:
    """What a stack is made with.

    `speeds`: a scripted model server for each; `settings`: variables of the environment by worker; `max_concurrency`:
    requests at once to one model; `token_ids`: whether models are asked for them.
    """

    partitions: int = 4
    speeds: tuple[Speed, ...] = (AT_ONCE,)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    max_concurrency: int = 256
    token_ids: bool = False


class RunningStack:
    """A stack that is up. Workers can be stopped, started again, and added."""

    def __init__(self, folder: Path, stack: Stack, models: Mapping[str, "ScriptedModel"]) -> None:
        self.folder = folder
        self._stack = stack
        self._models = models
        self._parts: dict[str, list[Part]] = {
            part.name: [part] for part in (*stack.foundation, *stack.services)
        }

    @property
    def deployment(self) -> Deployment:
        """The stack as runs and figures see it; ask again after a change."""
        pids = {name: [part.process.pid for part in parts] for name, parts in self._parts.items()}
        pids["scripted model"] = [model.process.pid for model in self._models.values()]
        return Deployment(
            bootstrap=self._stack.broker.bootstrap,
            prefix=self._stack.settings.topic_prefix,
            partitions=self._stack.settings.partitions,
            folder=self.folder,
            pids=pids,
            ports={
                name: [part.port for part in parts] for name, parts in self._parts.items() if name in _NEEDS
            },
            logs={name: [part.process.log for part in parts] for name, parts in self._parts.items()},
        )

    @property
    def gateway_url(self) -> str:
        """Where programs ask their model, without /v1."""
        return self._stack.gateway_url

    @property
    def signer(self) -> Signer:
        """Makes tokens that the gateway knows."""
        return Signer.from_file(self._stack.secret)

    def model_url(self, speed: str) -> str:
        """A scripted model's own API."""
        return self._models[speed].base_url

    async def start(self, kind: str) -> None:
        """Start the workers of a kind again and wait until they are ready."""
        for part in self._parts[kind]:
            part.start()
        await asyncio.gather(*(part.healthy(HEALTHY_SECONDS) for part in self._parts[kind]))

    async def stop(self, *kinds: str) -> None:
        """Let the workers of these kinds drain and end."""
        await asyncio.gather(*(asyncio.to_thread(part.stop) for kind in kinds for part in self._parts[kind]))

    async def grow(self, kind: str, workers: int) -> None:
        """Start workers of a kind until there are so many, and wait until all are ready."""
        parts = self._parts[kind]
        first = parts[0].process
        while len(parts) < workers:
            number, port = len(parts), free_port()
            own = {"ODRADEK_HTTP_PORT": str(port), "ODRADEK_FRONT_PORT": "0"}
            env = first.env | own | {"ODRADEK_WORKER_ID": f"{kind}-{number}"}
            part = Service(_NEEDS[kind], port, env, first.log.with_name(f"{kind}-{number}.log"))
            parts.append(part)
            part.start()
        await asyncio.gather(*(part.healthy(HEALTHY_SECONDS) for part in parts))

    async def close(self) -> None:
        """End everything: workers, what they stand on, models."""
        await self.stop(*_NEEDS)
        await self.stop(*(part.name for part in self._stack.foundation))


@asynccontextmanager
async def running(shape: Shape, folder: Path) -> AsyncIterator[RunningStack]:
    """A stack of this shape with its data in `folder`. Raises ProcessError when a part does not become healthy."""
    async with AsyncExitStack() as cleanup:
        models = await cleanup.enter_async_context(scripted_models(shape, folder))
        async with turn_to_choose():
            stack = Stack(_settings(shape, folder, models))
            _apply(shape, stack)
            started = RunningStack(folder, stack, models)
            cleanup.push_async_callback(started.close)
            await _bring_up(stack)
        yield started


@asynccontextmanager
async def scripted_models(shape: Shape, folder: Path) -> AsyncIterator[dict[str, "ScriptedModel"]]:
    """The shape's model servers, by the name of their speed."""
    models = {speed.name: ScriptedModel(folder, speed) for speed in shape.speeds}
    try:
        for model in models.values():
            model.process.start()
        for model in models.values():
            await model.healthy()
        yield models
    finally:
        for model in models.values():
            model.process.stop()


class ScriptedModel:
    """A model server that answers by script after some milliseconds."""

    def __init__(self, folder: Path, speed: Speed) -> None:
        self._port_file = folder / f"{speed.name}.port"
        command = [sys.executable, str(ROOT / "tests/support/scripted_model.py"), "--port", "0"]
        latency = ["--latency-ms", str(speed.milliseconds), "--spread", str(speed.spread)]
        command += ["--port-file", str(self._port_file), *latency]
        self.process = Process(f"the scripted model {speed.name}", command, log=folder / f"{speed.name}.log")

    async def healthy(self) -> None:
        """Wait until it listens. Raises ProcessError."""

        async def listens() -> bool:
            return self._port_file.exists()

        await until_healthy(self.process, listens, HEALTHY_SECONDS)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port_file.read_text().strip()}/v1"


def upstreams(shape: Shape, models: Mapping[str, ScriptedModel]) -> dict[str, ModelSettings]:
    """The models as the gateway is to know them: each script at each speed."""
    return {
        model_name(script, speed): ModelSettings.at(
            model.base_url, model=script, max_concurrency=shape.max_concurrency, token_ids=shape.token_ids
        )
        for speed, model in models.items()
        for script in SCRIPTS
    }


async def _bring_up(stack: Stack) -> None:
    for part in stack.foundation:
        part.start()
    await asyncio.gather(*(part.healthy(HEALTHY_SECONDS) for part in stack.foundation))
    await apply_topics(
        Brokers(stack.broker.bootstrap), stack.settings.topic_prefix, stack.settings.partitions
    )
    for service in stack.services:
        service.start()
    await asyncio.gather(*(service.healthy(HEALTHY_SECONDS) for service in stack.services))


def _settings(shape: Shape, folder: Path, models: Mapping[str, ScriptedModel]) -> LocalSettings:
    return LocalSettings(
        data_dir=folder / "data",
        local_model=False,
        kafka_port=0,
        valkey_port=0,
        services_port=0,
        front_port=0,
        partitions=shape.partitions,
        models=upstreams(shape, models),
    )


def model_name(script: str, speed: str) -> str:
    """What a run asks for to be played by a script at a speed of the shape."""
    return f"{script}_{speed}"


def _apply(shape: Shape, stack: Stack) -> None:
    """Give the workers the shape's settings before they start."""
    for service in stack.services:
        service.process.env.update(shape.settings.get(service.name, {}))


async def settled(deployment: Deployment, seconds: float = 60.0) -> None:
    """Wait until each partition has its one owner in every group (after workers were added). Raises TimeoutError."""
    until = time.monotonic() + seconds
    while not await deployment.balanced():
        if time.monotonic() > until:
            raise TimeoutError(f"the groups did not settle within {seconds:.0f} s")
        await asyncio.sleep(0.2)
