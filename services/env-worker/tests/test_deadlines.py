"""An action that is handed out again has what is left of its time, whatever happened to the worker that had it before."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from odradek.environment import Environment
from odradek.session_replies import SessionAction
from odradek.sessions import Sessions
from odradek.tools import tool
from odradek_env_worker.flights import Flights
from odradek_env_worker.host import SessionHost, remembering
from odradek_env_worker.threads import ToolThreads
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import Envelope
from odradek_schemas.events import (
    Event,
    SessionCloseRequested,
    SessionFailed,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionCall, ToolCall
from odradek_schemas.rollouts import Reward, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = "run/0/0/1"
HOUR = 3600.0
ALMOST = timedelta(seconds=HOUR - 0.1)


class Waiting(Environment):
    """Nothing here ends before the test does."""

    name = "waiting"
    over = threading.Event()

    class Task(BaseModel):
        slow: bool = False

    class State(BaseModel):
        slow: bool = False

    def __init__(self) -> None:
        self.begun = 0
        self.beginning = asyncio.Event()

    def reset(self, task: Task, seed: int) -> State:
        self.wait(task.slow)
        return self.State()

    @tool
    def plain(self, state: State) -> str:
        """Wait."""
        self.wait(True)
        return "late"

    @tool(outside=True)
    async def outside(self, state: State) -> str:
        """Wait outside."""
        self.begun += 1
        self.beginning.set()
        await asyncio.Event().wait()
        return "never"

    def evidence(self, state: State, task: Task, answer: object) -> dict[str, Any]:
        self.wait(True)
        return {}

    def wait(self, slow: bool) -> None:
        if slow:
            self.over.wait(20)

    def verify(self, trajectory: Trajectory, answer: object) -> Reward:
        return Reward(reward=0.0)


class Worker:
    """A host with a log of the sessions that it committed, and a clock that stands still."""

    def __init__(self, world: Waiting, clock: datetime) -> None:
        self.world = world
        self.log: list[SessionStateChanged] = []
        sessions = Sessions(lambda *_: world, remember=remembering(self._commit))
        self._host = SessionHost(sessions, ToolThreads(4, 4, lambda: None), Flights(None), lambda: clock)

    async def _commit(self, outputs: Outputs) -> None:
        for output in outputs:
            assert isinstance(output, Output)
            assert output.topic == "sessions"
            assert isinstance(output.event, SessionStateChanged)
            self.log.append(output.event)

    async def told(self, action: SessionAction) -> Event:
        """What the agent is told, within a time that is nothing to the action's own."""
        envelope = Envelope(action.type, action.id, action.run_id, action.rollout_id, None, None, None)
        record = Record("tool-actions", 0, 1, action.key.encode(), b"", (), envelope)
        async with asyncio.timeout(15):
            outputs = await self._host.handle(action, record)
        assert isinstance(outputs[0], Output)
        await self._commit([output for output in outputs[1:] if isinstance(output, Output)])
        return outputs[0].event

    def heir(self, later: timedelta) -> "Worker":
        """The next worker, which has read the log, at a later time."""
        heir = Worker(self.world, NOW + later)
        heir._host.restore(SESSION, self.log[-1])
        return heir


def _ids(what: str) -> dict[str, Any]:
    return {"id": f"{SESSION}/{what}", "run_id": "run", "rollout_id": "run/0/0", "session_id": SESSION}


def _opening(slow: bool = False) -> SessionRequested:
    return SessionRequested(
        **_ids("open"), time=NOW, environment="waiting", task={"slow": slow}, seed=0, timeout_seconds=HOUR
    )


def _calling(name: str) -> ToolCallRequested:
    call = ToolCall(id="c", function=FunctionCall(name=name, arguments="{}"))
    return ToolCallRequested(**_ids("1"), time=NOW, turn=1, call=call, timeout_seconds=HOUR)


def _closing() -> SessionCloseRequested:
    return SessionCloseRequested(**_ids("close"), time=NOW, timeout_seconds=HOUR)


@pytest.fixture
def world() -> Iterator[Waiting]:
    Waiting.over.clear()
    yield Waiting()
    Waiting.over.set()


@pytest.fixture
async def worker(world: Waiting) -> Worker:
    worker = Worker(world, NOW)
    await worker.told(_opening())
    return worker


@pytest.mark.parametrize("name", ["plain", "outside"])
async def test_a_call_has_what_is_left_of_its_time(worker: Worker, name: str) -> None:
    failed = await worker.heir(ALMOST).told(_calling(name))
    assert isinstance(failed, ToolCallFailed)
    assert failed.failure.kind is FailureKind.TOOL_DEADLINE


async def test_a_session_is_opened_in_what_is_left_of_its_time(world: Waiting) -> None:
    failed = await Worker(world, NOW + ALMOST).told(_opening(slow=True))
    assert isinstance(failed, SessionFailed)
    assert failed.failure.kind is FailureKind.SESSION_DEADLINE


async def test_a_session_is_closed_in_what_is_left_of_its_time(worker: Worker) -> None:
    failed = await worker.heir(ALMOST).told(_closing())
    assert isinstance(failed, SessionFailed)
    assert failed.failure.kind is FailureKind.SESSION_DEADLINE


async def test_a_started_call_is_known_to_the_next_worker_within_its_time_and_after(worker: Worker) -> None:
    """Interrupted while somebody waits for it, overdue when nobody does; begun in neither case."""
    begun = asyncio.create_task(worker.told(_calling("outside")))
    async with asyncio.timeout(15):
        await worker.world.beginning.wait()
    begun.cancel()
    interrupted = await worker.heir(ALMOST).told(_calling("outside"))
    assert isinstance(interrupted, ToolCallCompleted)
    assert interrupted.interrupted
    overdue = await worker.heir(timedelta(seconds=HOUR)).told(_calling("outside"))
    assert isinstance(overdue, ToolCallFailed)
    assert overdue.failure.kind is FailureKind.TOOL_DEADLINE
    assert worker.world.begun == 1
