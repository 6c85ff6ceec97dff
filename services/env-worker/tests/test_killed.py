"""The real process on a real broker, killed in the middle of a call: what happened outside happened at most once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import apply_topics
from odradek_schemas.codec import decode, encode, read_envelope
from odradek_schemas.events import (
    Event,
    RecordCoordinates,
    SessionClosed,
    SessionCloseRequested,
    SessionReady,
    SessionRequested,
    ToolCallCompleted,
    ToolCallRequested,
)
from odradek_schemas.messages import FunctionCall, ToolCall
from odradek_schemas.topics import OBSERVATIONS, TOOL_ACTIONS

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]

COMMAND = Path(sys.executable).with_name("odradek-env-worker")
PLUGINS = Path(__file__).parent / "plugins"
SESSION = "run/0/0/1"


class EnvWorker:
    """The service as a process, which strikes itself when it is told to."""

    def __init__(self, kafka: str, prefix: str, folder: Path) -> None:
        self._faults = folder / "faults"
        self._faults.mkdir()
        self._log = (folder / "log").open("ab")
        self._env = os.environ | {
            "ODRADEK_BOOTSTRAP_SERVERS": kafka,
            "ODRADEK_TOPIC_PREFIX": prefix,
            "ODRADEK_PARTITIONS": "1",
            "ODRADEK_BLOB_STORE": (folder / "blobs").as_uri(),
            "ODRADEK_WORKER_ID": "env-worker-0",
            "ODRADEK_FAULTS": str(self._faults),
            "PYTHONPATH": str(PLUGINS),
        }
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            COMMAND, env=self._env, stdout=self._log, stderr=self._log
        )

    def strike(self, point: str) -> None:
        (self._faults / f"env-worker.{point}").write_text("kill")

    async def killed(self) -> None:
        assert self._process is not None
        async with asyncio.timeout(60):
            assert await self._process.wait() == -signal.SIGKILL

    async def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._log.close()


class Agent:
    """Asks for actions, and reads the committed observations in order."""

    def __init__(self, prefix: str, writer: AIOKafkaProducer, reader: AIOKafkaConsumer) -> None:
        self._prefix, self._writer, self._reader = prefix, writer, reader

    async def ask(self, action: Event) -> None:
        encoded = encode(action, "test")
        topic = self._prefix + TOOL_ACTIONS.name
        await self._writer.send_and_wait(
            topic, encoded.value, encoded.key, partition=0, headers=list(encoded.headers)
        )

    async def told(self) -> Any:
        async with asyncio.timeout(60):
            raw = await self._reader.getone()
        where = RecordCoordinates(topic=OBSERVATIONS.name, partition=0, offset=raw.offset)
        return decode(OBSERVATIONS, read_envelope(raw.headers, where), raw.value or b"", where)

    async def call(self, step: int, name: str) -> None:
        wanted = ToolCall(id=f"c{step}", function=FunctionCall(name=name, arguments="{}"))
        await self.ask(ToolCallRequested(**_ids(str(step)), turn=step, call=wanted, timeout_seconds=60.0))


def _ids(what: str) -> dict[str, Any]:
    return {"id": f"{SESSION}/{what}", "run_id": "run", "rollout_id": "run/0/0", "session_id": SESSION}


@pytest.fixture
async def worker(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[EnvWorker]:
    await apply_topics(Brokers(kafka), prefix, 1)
    worker = EnvWorker(kafka, prefix, tmp_path)
    await worker.start()
    yield worker
    await worker.end()


@pytest.fixture
async def agent(kafka: str, prefix: str, worker: EnvWorker) -> AsyncIterator[Agent]:
    writer = AIOKafkaProducer(bootstrap_servers=kafka)
    reader = AIOKafkaConsumer(
        prefix + OBSERVATIONS.name,
        bootstrap_servers=kafka,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    async with writer, reader:
        yield Agent(prefix, writer, reader)


@dataclass(frozen=True)
class Kill:
    """A call, when its worker is killed, and what comes of it: lines in the file, and what the agent is told."""

    tool: str
    moment: str
    lines: int
    interrupted: bool


KILLS = (
    Kill("once", "tool.done", lines=1, interrupted=True),
    Kill("again", "tool.done", lines=2, interrupted=False),
    Kill("once", "tool.started", lines=0, interrupted=True),
)


async def test_a_session_whose_worker_is_killed_again_and_again(
    worker: EnvWorker, agent: Agent, tmp_path: Path
) -> None:
    """Caught: an effect that happens twice; a call that is never answered; a session that is lost with its worker."""
    file = tmp_path / "outside"
    task = {"file": str(file)}
    await agent.ask(
        SessionRequested(**_ids("open"), environment="outside_world", task=task, seed=0, timeout_seconds=60.0)
    )
    assert isinstance(await agent.told(), SessionReady)
    for step, kill in enumerate(KILLS, 1):
        file.write_text("")
        worker.strike(kill.moment)
        await agent.call(step, kill.tool)
        await worker.killed()
        await worker.start()
        answer = await agent.told()
        assert isinstance(answer, ToolCallCompleted)
        assert answer.call_id == f"{SESSION}/{step}"
        assert (answer.interrupted, answer.is_error) == (kill.interrupted, kill.interrupted)
        assert file.read_text().splitlines() == ["written"] * kill.lines

    await agent.call(len(KILLS) + 1, "once")
    assert (await agent.told()).content == "written"
    await agent.ask(SessionCloseRequested(**_ids("close"), timeout_seconds=60.0))
    closed = await agent.told()
    assert isinstance(closed, SessionClosed)
    assert closed.evidence == {"known": 2}
