"""The rules of a session, without a log."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from odradek.environment import Environment
from odradek.plugins import UnknownPlugin
from odradek.sessions import Outcome, Sessions
from odradek.tools import ToolError, ToolResult, tool
from odradek_schemas.base import JsonObject
from odradek_schemas.events import (
    SessionClosed,
    SessionCloseRequested,
    SessionFailed,
    SessionReady,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, ToolCall, ToolSpec
from odradek_schemas.rollouts import Reward, Trajectory

SESSION = "run/0/0/1"


class Counter(Environment):
    """Counts, and misbehaves when asked to."""

    name = "counter"

    class Task(BaseModel):
        start: int
        trouble: str | None = None

    class Answer(BaseModel):
        expected: int

    class State(BaseModel):
        value: int
        words: set[str] = set()
        anything: Any = None

    gate = threading.Event()
    left = threading.Event()

    def reset(self, task: Task, seed: int) -> State:
        if task.trouble == "reset":
            raise ValueError("no world today")
        if task.trouble == "slow reset":
            self.gate.wait(10)
        return self.State(value=task.start + seed)

    def observe(self, state: State) -> list[Message]:
        return [Message(role="user", content=f"The counter is at {state.value}.")]

    @tool
    def add(self, state: State, amount: int) -> str:
        """Add to the counter."""
        state.value += amount
        return str(state.value)

    @tool
    def refuse(self, state: State) -> str:
        """Change something, then refuse."""
        raise ToolError("not today")

    @tool
    def finish(self, state: State) -> ToolResult:
        """End the episode."""
        return ToolResult("over", done=True)

    @tool
    def spoil(self, state: State, how: str) -> str:
        """Change the state, then fail."""
        state.value = -1
        if how == "exit":
            raise SystemExit("bye")
        if how == "timeout":
            raise TimeoutError("mine, not the session's")
        if how == "unwritable":
            state.anything = object()
            return "done"
        if how == "hang":
            self.gate.wait(10)
            state.value = -2
            self.left.set()
            return "late"
        raise ValueError("broken")

    @tool
    async def ponder(self, state: State) -> str:
        """Wait for what never comes."""
        await asyncio.Event().wait()
        return "never"

    @tool
    async def cancel(self, state: State) -> str:
        """Wait for something that is cancelled."""
        waiting = asyncio.ensure_future(asyncio.sleep(60))
        waiting.cancel()
        await waiting
        return "never"

    def evidence(self, state: State, task: Task, answer: Answer | None) -> JsonObject | None:
        if task.trouble == "evidence":
            raise ValueError("nothing to see")
        if task.trouble == "slow evidence":
            self.gate.wait(10)
        return {"value": state.value, "right": answer is not None and answer.expected == state.value}

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        return Reward(reward=0.0)


class Examined(Counter):
    name = "examined"
    evidence_needs_answer = True


class Worldless(Environment):
    name = "worldless"

    class Task(BaseModel):
        pass

    def verify(self, trajectory: Trajectory, answer: object) -> Reward:
        return Reward(reward=0.0)


def _load(name: str, settings: JsonObject) -> Environment:
    for cls in (Counter, Examined, Worldless):
        if cls.name == name:
            return cls()
    raise UnknownPlugin("odradek.environments", name, ["counter"])


@pytest.fixture(autouse=True)
async def gate() -> AsyncIterator[threading.Event]:
    """What hangs goes on when it is set, at the latest when the test ends."""
    Counter.gate.clear()
    Counter.left.clear()
    yield Counter.gate
    Counter.gate.set()


@pytest.fixture
def sessions() -> Sessions:
    return Sessions(_load)


def _opening(environment: str = "counter", seconds: float = 10.0, **task: Any) -> SessionRequested:
    return SessionRequested(
        id=f"{SESSION}/open",
        run_id="run",
        rollout_id="run/0/0",
        session_id=SESSION,
        environment=environment,
        task={"start": 1, **task},
        sealed_answer=json.dumps({"expected": 6}),
        seed=2,
        timeout_seconds=seconds,
    )


def _call(
    step: int, name: str, turn: int = 1, seconds: float = 10.0, text: str | None = None, **arguments: Any
) -> ToolCallRequested:
    function = FunctionCall(name=name, arguments=json.dumps(arguments) if text is None else text)
    return ToolCallRequested(
        id=f"{SESSION}/{step}",
        run_id="run",
        rollout_id="run/0/0",
        session_id=SESSION,
        turn=turn,
        call=ToolCall(id=f"call-{step}", function=function),
        timeout_seconds=seconds,
    )


def _closing(discard: bool = False, seconds: float = 10.0) -> SessionCloseRequested:
    return SessionCloseRequested(
        id=f"{SESSION}/close",
        run_id="run",
        rollout_id="run/0/0",
        session_id=SESSION,
        discard=discard,
        timeout_seconds=seconds,
    )


def _said(outcome: Outcome) -> str:
    assert isinstance(outcome.reply, ToolCallCompleted)
    return outcome.reply.content


def _failure(outcome: Outcome) -> Failure:
    assert isinstance(outcome.reply, SessionFailed | ToolCallFailed)
    assert outcome.changed is None
    return outcome.reply.failure


def _value(outcome: Outcome) -> object:
    assert outcome.changed is not None
    return outcome.changed.state["value"]


async def test_opening_shows_the_tools_and_the_first_observation(sessions: Sessions) -> None:
    outcome = await sessions.answer(_opening())
    ready = outcome.reply
    assert isinstance(ready, SessionReady)
    assert ready.id == f"{SESSION}/ready"
    assert [spec.function.name for spec in ready.tools][:2] == ["add", "refuse"]
    assert [message.text for message in ready.observation] == ["The counter is at 3."]
    assert _value(outcome) == 3
    assert not outcome.ended


async def test_a_row_s_own_tools_are_shown_instead(sessions: Sessions) -> None:
    own = [ToolSpec(function=FunctionSpec(name="add"))]
    outcome = await sessions.answer(_opening().model_copy(update={"tools": own}))
    assert isinstance(outcome.reply, SessionReady)
    assert outcome.reply.tools == own


async def test_calls_change_the_state_one_after_another(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    first = await sessions.answer(_call(1, "add", amount=2))
    second = await sessions.answer(_call(2, "add", amount=4))
    assert (_said(first), _said(second), _value(second)) == ("5", "9", 9)
    assert isinstance(first.reply, ToolCallCompleted)
    assert (first.reply.id, first.reply.call_id) == (f"{SESSION}/1/completed", f"{SESSION}/1")
    assert second.changed is not None
    assert list(second.changed.answered) == [f"{SESSION}/1", f"{SESSION}/2"]


async def test_a_repeated_call_of_the_last_turn_is_answered_and_not_applied_again(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    first = await sessions.answer(_call(1, "add", amount=2))
    await sessions.answer(_call(2, "add", amount=4))
    again = await sessions.answer(_call(1, "add", amount=2))
    assert again == Outcome(first.reply)
    assert _said(await sessions.answer(_call(3, "add", amount=0))) == "9"


async def test_a_call_of_an_older_turn_is_refused(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    await sessions.answer(_call(1, "add", turn=1, amount=2))
    after = await sessions.answer(_call(2, "add", turn=2, amount=2))
    assert after.changed is not None
    assert list(after.changed.answered) == [f"{SESSION}/2"]
    failure = _failure(await sessions.answer(_call(1, "add", turn=1, amount=2)))
    assert (failure.kind, failure.stage) == (FailureKind.TOOL_INTERRUPTED, Stage.TOOL)
    assert _said(await sessions.answer(_call(3, "add", turn=2, amount=0))) == "7"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (_call(1, "fly"), "no tool 'fly'"),
        (_call(1, "add", amount="much"), "amount"),
        (_call(1, "add", text="{amount: 2"), "not JSON"),
        (_call(1, "refuse"), "not today"),
    ],
)
async def test_a_bad_call_is_an_observation(sessions: Sessions, call: ToolCallRequested, words: str) -> None:
    await sessions.answer(_opening())
    outcome = await sessions.answer(call)
    assert words in _said(outcome)
    assert isinstance(outcome.reply, ToolCallCompleted)
    assert outcome.reply.is_error
    assert _value(outcome) == 3


async def test_a_tool_may_end_the_episode(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    outcome = await sessions.answer(_call(1, "finish"))
    assert isinstance(outcome.reply, ToolCallCompleted)
    assert outcome.reply.done


@pytest.mark.parametrize("how", ["raise", "exit", "timeout", "unwritable"])
async def test_a_call_that_fails_leaves_the_state_as_it_was(sessions: Sessions, how: str) -> None:
    await sessions.answer(_opening())
    failure = _failure(await sessions.answer(_call(1, "spoil", how=how)))
    assert (failure.kind, failure.stage) == (FailureKind.ENVIRONMENT_ERROR, Stage.TOOL)
    assert _said(await sessions.answer(_call(2, "add", amount=0))) == "3"


async def test_a_tool_whose_own_wait_is_cancelled_is_the_environment_s_error(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    failure = _failure(await sessions.answer(_call(1, "cancel")))
    assert failure.kind is FailureKind.ENVIRONMENT_ERROR


async def test_whoever_is_cancelled_while_asking_is_cancelled(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    asking = asyncio.create_task(sessions.answer(_call(1, "ponder")))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("name", ["ponder", "spoil"])
async def test_a_tool_that_hangs_fails_at_its_deadline_and_can_t_touch_the_state_later(
    sessions: Sessions, gate: threading.Event, name: str
) -> None:
    await sessions.answer(_opening())
    arguments: dict[str, Any] = {"how": "hang"} if name == "spoil" else {}
    failure = _failure(await sessions.answer(_call(1, name, seconds=0.05, **arguments)))
    assert failure.kind is FailureKind.TOOL_DEADLINE
    if name == "spoil":
        gate.set()
        assert await asyncio.to_thread(Counter.left.wait, 10)
    assert _said(await sessions.answer(_call(2, "add", amount=0))) == "3"


async def test_a_session_goes_on_from_its_changelog(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    outcome = await sessions.answer(_call(1, "add", amount=2))
    assert outcome.changed is not None
    written = outcome.changed.model_dump_json(exclude_none=True)
    other = Sessions(_load)
    other.restore(SessionStateChanged.model_validate_json(written))
    assert await other.answer(_call(1, "add", amount=2)) == Outcome(outcome.reply)
    assert _said(await other.answer(_call(2, "add", amount=2))) == "7"


async def test_opening_again_shows_the_same_and_changes_nothing(sessions: Sessions) -> None:
    first = await sessions.answer(_opening())
    await sessions.answer(_call(1, "add", amount=2))
    again = await sessions.answer(_opening())
    assert isinstance(again.reply, SessionReady)
    assert isinstance(first.reply, SessionReady)
    assert again.reply.observation == first.reply.observation
    assert again.changed is None
    assert _said(await sessions.answer(_call(2, "add", amount=0))) == "5"


async def test_closing_gathers_evidence_and_the_final_state(sessions: Sessions) -> None:
    await sessions.answer(_opening())
    await sessions.answer(_call(1, "add", amount=2))
    outcome = await sessions.answer(_closing())
    closed = outcome.reply
    assert isinstance(closed, SessionClosed)
    assert closed.id == f"{SESSION}/closed"
    assert closed.evidence == {"value": 5, "right": False}
    assert closed.final_state is not None
    assert closed.final_state["value"] == 5
    assert outcome.ended
    assert len(sessions) == 0


async def test_evidence_that_needs_the_answer_is_gathered_with_it_and_sealed() -> None:
    sessions = Sessions(_load, open_answer=json.loads, seal=json.dumps)
    await sessions.answer(_opening("examined"))
    await sessions.answer(_call(1, "add", amount=3))
    closed = (await sessions.answer(_closing())).reply
    assert isinstance(closed, SessionClosed)
    assert closed.evidence is None
    assert closed.sealed_evidence is not None
    assert json.loads(closed.sealed_evidence) == {"value": 6, "right": True}


async def test_a_session_whose_evidence_needs_an_answer_that_can_t_be_opened_is_not_begun(
    sessions: Sessions,
) -> None:
    def refuse(sealed: str) -> JsonObject:
        raise ValueError("another key")

    for keyless in (sessions, Sessions(_load, open_answer=refuse, seal=json.dumps)):
        outcome = await keyless.answer(_opening("examined"))
        assert _failure(outcome).kind is FailureKind.ANSWER_UNREADABLE
        assert len(keyless) == 0


async def test_a_discarded_session_ends_without_evidence(sessions: Sessions) -> None:
    await sessions.answer(_opening(trouble="evidence"))
    outcome = await sessions.answer(_closing(discard=True))
    assert isinstance(outcome.reply, SessionClosed)
    assert (outcome.reply.evidence, outcome.reply.final_state, outcome.ended) == (None, None, True)


async def test_a_session_that_is_not_open_is_lost(sessions: Sessions) -> None:
    assert _failure(await sessions.answer(_call(1, "add", amount=1))).kind is FailureKind.SESSION_LOST
    assert _failure(await sessions.answer(_closing())).kind is FailureKind.SESSION_LOST
    discarded = await sessions.answer(_closing(discard=True))
    assert isinstance(discarded.reply, SessionClosed)
    assert not discarded.ended


@pytest.mark.parametrize(
    ("opening", "kind"),
    [
        (_opening("nowhere"), FailureKind.UNKNOWN_ENVIRONMENT),
        (_opening("worldless"), FailureKind.ENVIRONMENT_ERROR),
        (_opening(trouble="reset"), FailureKind.ENVIRONMENT_ERROR),
        (_opening(start="one"), FailureKind.ENVIRONMENT_ERROR),
        (_opening(trouble="slow reset", seconds=0.05), FailureKind.SESSION_DEADLINE),
    ],
)
async def test_a_session_that_can_not_be_opened_fails(
    sessions: Sessions, opening: SessionRequested, kind: FailureKind
) -> None:
    outcome = await sessions.answer(opening)
    failure = _failure(outcome)
    assert (failure.kind, failure.stage) == (kind, Stage.SESSION)
    assert outcome.reply.id == f"{SESSION}/failed"
    assert len(sessions) == 0


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [("evidence", FailureKind.ENVIRONMENT_ERROR), ("slow evidence", FailureKind.SESSION_DEADLINE)],
)
async def test_a_session_whose_evidence_fails_ends_as_failed(
    sessions: Sessions, trouble: str, kind: FailureKind
) -> None:
    await sessions.answer(_opening(trouble=trouble))
    outcome = await sessions.answer(_closing(seconds=0.1))
    assert _failure(outcome).kind is kind
    assert outcome.ended
    assert len(sessions) == 0


async def test_a_call_whose_session_is_forgotten_meanwhile_leaves_nothing_behind(
    sessions: Sessions, gate: threading.Event
) -> None:
    await sessions.answer(_opening())
    asking = asyncio.create_task(sessions.answer(_call(1, "spoil", how="hang")))
    await asyncio.sleep(0.02)
    sessions.forget(SESSION)
    gate.set()
    assert _failure(await asking).kind is FailureKind.SESSION_LOST
    assert len(sessions) == 0
