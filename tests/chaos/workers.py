"""The processes that can be struck: those of the stack, kept by its supervisor, and second workers, kept by nobody."""

import asyncio
import os
import re
import time
import urllib.request
from pathlib import Path

import psutil

from odradek_local.health import answers_http, until_healthy
from odradek_local.ports import free_port
from odradek_local.process import Process
from odradek_local.state import PartState, PartStatus, Status
from tests.support.stack import RunningStack

PRODUCER, AGENT, ENV, VERIFIER, GATEWAY = KINDS = (
    "task-producer",
    "agent-worker",
    "env-worker",
    "verifier-worker",
    "model-gateway",
)
BROKER = "kafka"
VALKEY = "valkey"
READY_SECONDS = 120.0
_BACKLOG = re.compile(r'^odradek_backlog_records\{(?=[^}]*partition="(\d+)")[^}]*\} (\S+)', re.MULTILINE)


class Workers:
    """Finds, starts and stops processes by kind."""

    def __init__(self, stack: RunningStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self._seconds: dict[str, tuple[Process, int]] = {}

    def part(self, kind: str) -> PartState:
        return next(part for part in self._stack.state.parts if part.name == kind)

    def pid(self, kind: str, second: bool = False) -> int:
        return self._seconds[kind][0].pid if second else self.part(kind).pid

    def faults(self, second: bool) -> Path:
        """Where orders for a worker lie: second workers have a folder of their own."""
        return self._second_faults if second else self._stack.faults

    @property
    def seconds(self) -> tuple[str, ...]:
        return tuple(self._seconds)

    async def add(self, kind: str) -> None:
        """Start a second worker like the first, with a membership that is dynamic; returns when the two share the work."""
        like, port = psutil.Process(self.pid(kind)), free_port()
        self._second_faults.mkdir(exist_ok=True)
        own = {"ODRADEK_HTTP_PORT": str(port), "ODRADEK_FRONT_PORT": "0"}
        env = like.environ() | own | {"ODRADEK_FAULTS": str(self._second_faults)}
        env.pop("ODRADEK_WORKER_ID")
        log = self._folder / f"second-{kind}.log"
        process = Process(f"second {kind}", like.cmdline(), log=log, env=env)
        process.start()
        self._seconds[kind] = process, port
        await until_healthy(process, lambda: self._shared(kind), READY_SECONDS)

    async def remove(self, kind: str) -> None:
        """Stop the second worker in order, if it still runs."""
        process, _port = self._seconds.pop(kind)
        await asyncio.to_thread(process.stop)

    async def remove_all(self) -> None:
        await asyncio.gather(*(self.remove(kind) for kind in self.seconds))

    async def partitions(self, kind: str, second: bool = False) -> frozenset[int]:
        """The partition numbers that a worker has, as it says itself."""
        return frozenset(await self._backlog(kind, second))

    async def settled(self, seconds: float) -> None:
        """Wait until the stack is healthy and its workers have all partitions and nothing left to do.

        Second workers are gone by then. Raises TimeoutError.
        """
        end = time.monotonic() + seconds
        while left := await self._unsettled():
            if time.monotonic() > end:
                raise TimeoutError(f"not at rest within {seconds:.0f} s: {left}")
            await asyncio.sleep(0.1)

    def memory_mib(self) -> dict[str, float]:
        """Resident memory by kind, children included."""
        return {kind: _family_mib(self.pid(kind)) for kind in KINDS}

    def strays(self) -> list[str]:
        """Processes of this stack that nobody keeps any more."""
        kept = {os.getpid(), self._stack.state.supervisor_pid}
        kept |= {p.pid for pid in list(kept) for p in psutil.Process(pid).children(recursive=True)}
        ours = f"file://{self._stack.settings.folder}/"
        return [f"{p.pid} {p.name()}" for p in psutil.process_iter() if p.pid not in kept and _has(p, ours)]

    @property
    def _second_faults(self) -> Path:
        return self._folder / "faults-of-seconds"

    async def _shared(self, kind: str) -> bool:
        first, second = await self.partitions(kind), await self.partitions(kind, second=True)
        return bool(first and second) and len(first | second) == self._stack.settings.partitions

    async def _unsettled(self) -> str:
        state = self._stack.state
        if state.status is not Status.HEALTHY or any(p.status is not PartStatus.HEALTHY for p in state.parts):
            return (
                f"the stack is {state.status}: {state.error or [f'{p.name} {p.status}' for p in state.parts]}"
            )
        for kind in KINDS:
            ready = await answers_http(self.part(kind).port, "/readyz")
            backlog = await self._backlog(kind) if ready else {}
            if len(backlog) < self._stack.settings.partitions or any(backlog.values()):
                return f"{kind} (ready: {ready}) has a backlog of {backlog} by partition"
        return ""

    async def _backlog(self, kind: str, second: bool = False) -> dict[int, float]:
        port = self._seconds[kind][1] if second else self.part(kind).port
        try:
            text = await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/metrics")
        except OSError:
            return {}
        found: dict[int, float] = {}
        for partition, records in _BACKLOG.findall(text):
            found[int(partition)] = found.get(int(partition), 0.0) + float(records)
        return found


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=2) as answer:
        text: str = answer.read().decode()
        return text


def _family_mib(pid: int) -> float:
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return round(sum(member.memory_info().rss for member in family) / 2**20, 1)


def _has(process: psutil.Process, blob_store: str) -> bool:
    try:
        return process.environ().get("ODRADEK_BLOB_STORE", "").startswith(blob_store)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
