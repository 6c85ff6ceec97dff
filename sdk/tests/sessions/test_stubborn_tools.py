"""An `async` tool that does not let itself be cancelled holds up nobody but itself."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel

from odradek import tools
from odradek.environment import Environment
from odradek.sessions import Sessions
from odradek.tools import tool
from odradek_schemas.events import SessionRequested, ToolCallCompleted, ToolCallFailed, ToolCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionCall, ToolCall
from odradek_schemas.rollouts import Reward, Trajectory

SESSION = {"run_id": "r", "rollout_id": "r/0/0", "session_id": "r/0/0/1"}


class Stubborn(Environment):
    """Its tools do as they like at their deadline."""

    name = "stubborn"

    class Task(BaseModel):
        pass

    class State(BaseModel):
        told: list[str] = []

    cleaned = False
    released = False

    def reset(self, task: Task, seed: int) -> State:
        return self.State()

    @tool
    async def hang(self, state: State) -> str:
        """Swallows its cancellation."""
        while not self.released:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                state.told.append("no")
        return ""

    @tool
    async def clean(self, state: State) -> str:
        """Cleans up when it is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            self.cleaned = True
        return ""

    @tool
    async def leave(self, state: State) -> str:
        """Ends the program."""
        raise SystemExit("gone")

    @tool
    async def tell(self, state: State) -> str:
        """Tells what the session was told."""
        return ",".join(state.told) or "nothing"

    def verify(self, trajectory: Trajectory, answer: BaseModel | None) -> Reward:
        return Reward(reward=0.0)


async def call(sessions: Sessions, step: int, name: str) -> ToolCallCompleted | ToolCallFailed:
    action = ToolCallRequested(
        id=f"r/0/0/1/{step}",
        **SESSION,
        turn=step,
        call=ToolCall(id=f"c{step}", function=FunctionCall(name=name, arguments="{}")),
        timeout_seconds=0.05,
    )
    reply = (await sessions.answer(action)).reply
    assert isinstance(reply, ToolCallCompleted | ToolCallFailed)
    return reply


async def opened(environment: Environment) -> Sessions:
    sessions = Sessions(load=lambda *_: environment)
    request = SessionRequested(
        id="r/0/0/1/open", **SESSION, environment="stubborn", task={}, seed=1, timeout_seconds=5
    )
    await sessions.answer(request)
    return sessions


@pytest.fixture
async def stubborn() -> AsyncIterator[Stubborn]:
    """What still hangs at the end of the test is let go, for the event loop would wait for it."""
    environment = Stubborn()
    yield environment
    environment.released = True


async def test_it_fails_at_its_deadline_and_the_session_goes_on_as_before(
    stubborn: Stubborn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "LEAVE_SECONDS", 0.05)
    sessions = await opened(stubborn)
    async with asyncio.timeout(30):
        failed = await call(sessions, 1, "hang")
    assert isinstance(failed, ToolCallFailed)
    assert failed.failure.kind is FailureKind.TOOL_DEADLINE
    told = await call(sessions, 2, "tell")
    assert isinstance(told, ToolCallCompleted)
    assert told.content == "nothing"


async def test_one_that_cleans_up_is_given_a_moment() -> None:
    environment = Stubborn()
    failed = await call(await opened(environment), 1, "clean")
    assert isinstance(failed, ToolCallFailed)
    assert environment.cleaned


async def test_one_that_ends_the_program_ends_its_call() -> None:
    failed = await call(await opened(Stubborn()), 1, "leave")
    assert isinstance(failed, ToolCallFailed)
    assert "SystemExit: gone" in failed.failure.message


async def test_a_worker_that_is_told_to_stop_is_not_kept(
    stubborn: Stubborn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "LEAVE_SECONDS", 0.05)
    sessions = await opened(stubborn)
    action = ToolCallRequested(
        id="r/0/0/1/1",
        **SESSION,
        turn=1,
        call=ToolCall(id="c", function=FunctionCall(name="hang", arguments="{}")),
        timeout_seconds=600,
    )
    working = asyncio.ensure_future(sessions.answer(action))
    await asyncio.sleep(0.05)
    working.cancel()
    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await working
