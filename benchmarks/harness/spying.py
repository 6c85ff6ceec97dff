"""Sampling the workers of a stack while they work, and the broker's threads by their full names."""

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.causes import Stacks, broker_cause, read_raw
from benchmarks.harness.deployment import Deployment
from benchmarks.harness.machine import ROOT
from benchmarks.harness.processes import family, threads_cpu

SAMPLER = ROOT / "benchmarks/sampler"
SAMPLES = "ODRADEK_BENCH_SAMPLES"
BEGIN, END = signal.SIGUSR1, signal.SIGUSR2
SECONDS = 20.0
"""Within which each process must have written its samples, and the broker the names of its threads."""
LOOK_SECONDS = 0.05
_THREAD = re.compile(r'^"(?P<name>[^"]+)".*?\bnid=(?P<id>0x[0-9a-f]+|\d+)', re.MULTILINE)


@dataclass
class Samples:
    """What the workers were seen at, by component; and the broker's seconds of CPU by cause."""

    stacks: dict[str, Stacks] = field(default_factory=dict)
    broker: dict[str, float] = field(default_factory=dict)


def spied(folder: Path) -> dict[str, str]:
    """The environment of a worker that is to be sampled; `folder` is where its samples go."""
    return {"PYTHONPATH": str(SAMPLER), SAMPLES: str(folder)}


@asynccontextmanager
async def sampling(deployment: Deployment, folder: Path) -> AsyncIterator[Samples]:
    """Sample while the body runs; the samples are there when it has ended."""
    (broker,), (log,) = deployment.pids["kafka"], deployment.logs["kafka"]
    names = await asyncio.to_thread(_thread_names, broker, log)
    processes = _ready(deployment, folder)
    before, samples = threads_cpu(broker), Samples()
    for pid in processes:
        os.kill(pid, BEGIN)
    yield samples
    after = threads_cpu(broker)
    for pid in processes:
        (folder / f"{pid}.raw").unlink(missing_ok=True)
        os.kill(pid, END)
    for pid, component in processes.items():
        samples.stacks.setdefault(component, []).extend(
            await asyncio.to_thread(_written, folder / f"{pid}.raw")
        )
    for thread, seconds in after.items():
        cause = broker_cause(names.get(thread, ""))
        samples.broker[cause] = samples.broker.get(cause, 0.0) + seconds - before.get(thread, 0.0)


def _ready(deployment: Deployment, folder: Path) -> dict[int, str]:
    """The processes that sample themselves, with their components. To others the signals would be the end."""
    return {
        member.pid: component
        for component in deployment.ports
        for pid in deployment.pids[component]
        for member in family(pid)
        if (folder / f"{member.pid}.ready").exists()
    }


def _written(path: Path) -> Stacks:
    until = time.monotonic() + SECONDS
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"no samples of process {path.stem} within {SECONDS:.0f} s")
        time.sleep(LOOK_SECONDS)
    return read_raw(path.read_text().splitlines())


def _thread_names(broker: int, log: Path) -> Mapping[int, str]:
    """The JVM's names of its threads: the kernel's are cut off. Told at SIGQUIT, in the broker's log."""
    start, until = log.stat().st_size, time.monotonic() + SECONDS
    os.kill(broker, signal.SIGQUIT)
    while True:
        with log.open() as file:
            file.seek(start)
            told = file.read()
        if "JNI global refs" in told or time.monotonic() > until:
            return {int(found["id"], 0): found["name"] for found in _THREAD.finditer(told)}
        time.sleep(LOOK_SECONDS)
