"""Tools with effects outside the session: begun at most once, or again where they say that it does no harm."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from odradek.environment import Environment
from odradek.sessions import Outcome, Sessions
from odradek.testing import call, play
from odradek.tools import tool
from odradek_schemas.events import (
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionCall, Message, ToolCall
from odradek_schemas.rollouts import Reward, ToolStep, Trajectory

SESSION = "run/0/0/1"


class Post(Environment):
    """Sends letters: `sent` is the world outside."""

    name = "post"

    class Task(BaseModel):
        pass

    class State(BaseModel):
        letters: int = 0

    def __init__(self) -> None:
        self.sent: list[str] = []

    def prompt(self, task: Task) -> list[Message]:
        return [Message(role="user", content="Write to us.")]

    @tool(outside=True)
    async def send(self, state: State, how: str = "well") -> str:
        """Send a letter."""
        self.sent.append("letter")
        state.letters += 1
        if how == "badly":
            raise ValueError("the box is on fire")
        if how == "for ever":
            await asyncio.Event().wait()
        return "sent"

    @tool(outside=True, idempotent=True)
    def register(self, state: State) -> str:
        """Enter the address, which may be there already."""
        self.sent.append("address")
        return "registered"

    @tool
    def count(self, state: State) -> str:
        """How many letters are known to be sent."""
        return str(state.letters)

    def verify(self, trajectory: Trajectory, answer: object) -> Reward:
        return Reward(reward=1.0)


class Desk:
    """A post, its sessions, and what was remembered before a tool was begun."""

    def __init__(self, post: Post, *, lost: bool = False) -> None:
        self.post = post
        self.remembered: list[tuple[SessionStateChanged, int]] = []
        self.sessions = Sessions(lambda *_: post, remember=self._for_ever if lost else self._remember)

    async def _remember(self, session: SessionStateChanged) -> None:
        self.remembered.append((session, len(self.post.sent)))

    async def _for_ever(self, session: SessionStateChanged) -> None:
        await asyncio.Event().wait()

    async def ask(self, step: int, name: str, turn: int = 1, seconds: float = 10.0, how: str = "") -> Outcome:
        return await self.sessions.answer(_call(step, name, turn, seconds, how))

    def heir(self, record: SessionStateChanged | None) -> "Desk":
        """The next worker, which knows what is in the log."""
        assert record is not None
        heir = Desk(self.post)
        heir.sessions.restore(SessionStateChanged.model_validate_json(record.model_dump_json()))
        return heir


def _ids(what: str) -> dict[str, Any]:
    return {"id": f"{SESSION}/{what}", "run_id": "run", "rollout_id": "run/0/0", "session_id": SESSION}


def _call(step: int, name: str, turn: int, seconds: float, how: str) -> ToolCallRequested:
    arguments = f'{{"how": "{how}"}}' if how else "{}"
    wanted = ToolCall(id="c", function=FunctionCall(name=name, arguments=arguments))
    return ToolCallRequested(**_ids(str(step)), turn=turn, call=wanted, timeout_seconds=seconds)


async def _opened(desk: Desk) -> Desk:
    opening = SessionRequested(**_ids("open"), environment="post", task={}, seed=0, timeout_seconds=10.0)
    await desk.sessions.answer(opening)
    return desk


@pytest.fixture
async def desk() -> Desk:
    return await _opened(Desk(Post()))


@pytest.fixture
def another() -> Callable[..., Awaitable[Desk]]:
    async def make(**wishes: Any) -> Desk:
        return await _opened(Desk(Post(), **wishes))

    return make


def _completed(outcome: Outcome) -> ToolCallCompleted:
    assert isinstance(outcome.reply, ToolCallCompleted)
    return outcome.reply


def _failed(outcome: Outcome) -> FailureKind:
    assert isinstance(outcome.reply, ToolCallFailed)
    return outcome.reply.failure.kind


def _is_interrupted(outcome: Outcome) -> bool:
    reply = _completed(outcome)
    return reply.interrupted and reply.is_error and "interrupted" in reply.content


async def test_a_call_is_remembered_as_started_before_it_is_begun(desk: Desk) -> None:
    outcome = await desk.ask(1, "send")
    ((record, sent),) = desk.remembered
    assert (record.started, record.answered, record.state, sent) == ([f"{SESSION}/1"], {}, {"letters": 0}, 0)
    assert (_completed(outcome).content, _completed(outcome).interrupted) == ("sent", False)
    assert outcome.changed is not None
    assert (outcome.changed.started, list(outcome.changed.answered)) == ([], [f"{SESSION}/1"])
    assert outcome.changed.state == {"letters": 1}


async def test_other_calls_are_not_remembered_as_started(desk: Desk) -> None:
    for step, name in enumerate(("count", "register", "no such tool")):
        await desk.ask(step, name)
    assert desk.remembered == []


async def test_a_started_call_that_comes_again_is_interrupted_and_not_run(desk: Desk) -> None:
    await desk.ask(1, "send")
    heir = desk.heir(desk.remembered[0][0])
    again = await heir.ask(1, "send")
    assert _is_interrupted(again)
    assert desk.post.sent == ["letter"]
    assert again.changed is not None
    assert (again.changed.state, again.changed.started) == ({"letters": 0}, [])
    assert await heir.ask(1, "send") == Outcome(again.reply)
    later = desk.heir(again.changed)
    assert _is_interrupted(await later.ask(1, "send"))
    assert _completed(await later.ask(2, "count", turn=2)).content == "0"


async def test_an_idempotent_call_that_comes_again_is_run_again(desk: Desk) -> None:
    before = (await desk.ask(1, "count")).changed
    await desk.ask(2, "register")
    again = await desk.heir(before).ask(2, "register")
    assert _completed(again).content == "registered"
    assert desk.post.sent == ["address", "address"]


async def test_an_answered_call_is_answered_as_before(desk: Desk) -> None:
    outcome = await desk.ask(1, "send")
    assert await desk.heir(outcome.changed).ask(1, "send") == Outcome(outcome.reply)
    assert desk.post.sent == ["letter"]


@pytest.mark.parametrize(
    ("how", "kind"),
    [("for ever", FailureKind.TOOL_DEADLINE), ("badly", FailureKind.ENVIRONMENT_ERROR)],
)
async def test_a_call_that_failed_is_not_run_again_either(desk: Desk, how: str, kind: FailureKind) -> None:
    """Here, and at the next worker's: the failure may have been lost with this one."""
    seconds = 0.05 if how == "for ever" else 10.0
    assert _failed(await desk.ask(1, "send", seconds=seconds, how=how)) is kind
    assert _is_interrupted(await desk.ask(1, "send", how=how))
    assert _is_interrupted(await desk.heir(desk.remembered[0][0]).ask(1, "send", how=how))
    assert desk.post.sent == ["letter"]


async def test_a_call_that_can_not_be_remembered_is_not_begun(
    another: Callable[..., Awaitable[Desk]],
) -> None:
    """Its time is up while the log is waited for. Whether it is in the log by now, nobody knows."""
    desk = await another(lost=True)
    assert _failed(await desk.ask(1, "send", seconds=0.05)) is FailureKind.TOOL_DEADLINE
    assert desk.post.sent == []
    assert _is_interrupted(await desk.ask(1, "send"))


async def test_whoever_is_cancelled_while_it_is_remembered_does_not_begin(
    another: Callable[..., Awaitable[Desk]],
) -> None:
    desk = await another(lost=True)
    asking = asyncio.create_task(desk.ask(1, "send"))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert desk.post.sent == []


async def test_each_started_call_of_a_turn_is_known_until_the_next(desk: Desk) -> None:
    await desk.ask(1, "send", seconds=0.05, how="for ever")
    await desk.ask(2, "count")
    outcome = await desk.ask(3, "send")
    assert outcome.changed is not None
    assert outcome.changed.started == [f"{SESSION}/1"]
    assert list(outcome.changed.answered) == [f"{SESSION}/2", f"{SESSION}/3"]
    record, _sent = desk.remembered[-1]
    assert record.started == [f"{SESSION}/1", f"{SESSION}/3"]
    assert list(record.answered) == [f"{SESSION}/2"]
    assert _is_interrupted(await desk.heir(outcome.changed).ask(1, "send"))
    await desk.ask(4, "send", turn=2)
    record, _sent = desk.remembered[-1]
    assert (record.turn, record.started, record.answered) == (2, [f"{SESSION}/4"], {})


async def test_old_records_know_of_no_started_calls(desk: Desk) -> None:
    record = (await desk.ask(1, "count")).changed
    assert record is not None
    written = record.model_dump(mode="json", exclude={"started"})
    heir = Desk(desk.post)
    heir.sessions.restore(SessionStateChanged.model_validate(written))
    assert _completed(await heir.ask(2, "send")).content == "sent"


def test_a_rollout_with_outside_effects_is_played_in_a_test() -> None:
    post = Post()
    played = play(post, Post.Task(), [[call("send"), call("register")], call("count"), "Done."])
    assert played.observations == ["sent", "registered", "1"]
    assert post.sent == ["letter", "address"]
    assert not any(step.interrupted for step in played.trajectory.steps if isinstance(step, ToolStep))
