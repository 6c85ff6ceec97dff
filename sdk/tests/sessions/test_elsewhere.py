"""Worlds that are elsewhere: opened, asked and left by coroutines, with secrets that the log may not tell."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from odradek import Environment, JsonObject, Reward, Trajectory, Transcript, WorldFailed, tool
from odradek.sessions import Sessions
from odradek.testing import call, play_async
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
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits

SESSION = "run/0/0/1"
IDS = {"run_id": "run", "rollout_id": "run/0/0", "session_id": SESSION, "timeout_seconds": 5.0}


class Elsewhere(Environment):
    """A world behind a key: `log` is what it was asked."""

    name = "elsewhere"
    evidence_needs_answer = True
    evidence_needs_transcript = True
    state_is_secret = True

    class Task(BaseModel):
        trouble: str = ""

    class Answer(BaseModel):
        key: str

    class State(BaseModel):
        key: str
        turns: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Any] = []

    async def open(self, task: Task, answer: Answer, seed: int) -> State:
        self.log.append("open")
        if task.trouble == "down":
            raise WorldFailed(FailureKind.UPSTREAM_UNAVAILABLE, "nobody is there")
        return self.State(key=answer.key)

    interrupted_fails = True

    @tool(outside=True)
    async def turn(self, state: State) -> str:
        """Turn the key."""
        state.turns += 1
        return str(state.turns)

    async def gather(
        self, state: State, task: Task, answer: Answer, transcript: Transcript | None
    ) -> JsonObject | None:
        self.log.append("gather")
        assert transcript is not None
        texts = [message.text for message in transcript.messages]
        return {"turns": state.turns, "texts": [*texts], "why": transcript.finish_reason}

    def gathers_once(self, state: State) -> bool:
        return True

    async def leave(self, state: State) -> None:
        self.log.append(f"leave {state.key}")
        if state.key == "stuck":
            raise OSError("it does not let go")

    def verify(self, trajectory: Trajectory, answer: Answer) -> Reward:
        return Reward(reward=1.0)


def sessions_of(environment: Environment) -> Sessions:
    return Sessions(lambda *_: environment, open_answer=json.loads, seal=json.dumps)


def opening(trouble: str = "", key: str = "k3y") -> SessionRequested:
    answer, task = json.dumps({"key": key}), {"trouble": trouble}
    return SessionRequested(id="o", environment="elsewhere", task=task, sealed_answer=answer, seed=0, **IDS)


def closing(**more: Any) -> SessionCloseRequested:
    return SessionCloseRequested(id="c", **IDS, **more)


ROW = {"task": {}, "answer": {"key": "k3y"}, "messages": [{"role": "user", "content": "go"}]}


async def test_the_evidence_is_told_what_was_said_behind_the_prompt() -> None:
    played = await play_async(Elsewhere(), ROW, [call("turn"), "That was it."])
    assert played.trajectory.status == "completed"
    assert json.loads(played.trajectory.sealed_evidence or "") == {
        "turns": 1,
        "texts": ["", "1", "That was it."],
        "why": "stop",
    }


async def test_an_environment_that_does_not_ask_is_told_nothing() -> None:
    class Plain(Elsewhere):
        evidence_needs_transcript = False

        async def gather(self, state: Any, task: Any, answer: Any, transcript: Any) -> JsonObject | None:
            return {"told": transcript is not None}

    played = await play_async(Plain(), ROW, ["Done."])
    assert json.loads(played.trajectory.sealed_evidence or "") == {"told": False}


async def test_a_secret_state_is_remembered_sealed_and_found_again() -> None:
    first = sessions_of(Elsewhere())
    outcome = await first.answer(opening())
    assert isinstance(outcome.reply, SessionReady)
    assert outcome.changed is not None
    assert outcome.changed.state == {"sealed": json.dumps({"key": "k3y", "turns": 0})}
    second = Elsewhere()
    restored = sessions_of(second)
    restored.restore(SessionStateChanged.model_validate_json(outcome.changed.model_dump_json()))
    await restored.answer(closing(discard=True))
    assert second.log == ["leave k3y"]


async def test_no_state_of_a_secret_kind_is_in_the_record() -> None:
    played = await play_async(Elsewhere(), ROW, [call("turn"), "Done."])
    assert played.trajectory.final_state is None


async def test_without_keys_a_secret_session_is_not_begun() -> None:
    environment = Elsewhere()
    outcome = await Sessions(lambda *_: environment).answer(opening())
    assert isinstance(outcome.reply, SessionFailed)
    assert outcome.reply.failure.kind is FailureKind.ANSWER_UNREADABLE
    assert environment.log == []


async def test_a_world_that_says_what_failed_is_quoted() -> None:
    row = ROW | {"task": {"trouble": "down"}}
    played = await play_async(Elsewhere(), row, [], limits=Limits(max_attempts=2))
    assert [failure.kind for failure in played.trajectory.failed_attempts] == [
        FailureKind.UPSTREAM_UNAVAILABLE
    ]
    assert played.trajectory.failure is not None
    assert played.trajectory.failure.message == "nobody is there"


@pytest.mark.parametrize(("key", "reply"), [("k3y", SessionClosed), ("stuck", SessionFailed)])
async def test_a_discarded_session_is_left_and_over(key: str, reply: type) -> None:
    environment = Elsewhere()
    sessions = sessions_of(environment)
    await sessions.answer(opening(key=key))
    outcome = await sessions.answer(closing(discard=True))
    assert environment.log == ["open", f"leave {key}"]
    assert isinstance(outcome.reply, reply)
    assert outcome.ended
    assert len(sessions) == 0


async def test_evidence_whose_gathering_was_interrupted_is_not_gathered_again() -> None:
    """The worker dies behind the note that it has begun; the next one finds the note."""
    remembered: list[SessionStateChanged] = []

    async def remember(record: SessionStateChanged) -> None:
        remembered.append(record)

    environment = Elsewhere()
    first = Sessions(lambda *_: environment, open_answer=json.loads, seal=json.dumps, remember=remember)
    await first.answer(opening())
    told = Transcript(model="m", messages=[])
    assert isinstance((await first.answer(closing(transcript=told))).reply, SessionClosed)
    second = sessions_of(environment)
    second.restore(remembered[-1])
    outcome = await second.answer(closing(transcript=told))
    assert isinstance(outcome.reply, SessionFailed)
    assert outcome.reply.failure.kind is FailureKind.TOOL_INTERRUPTED
    assert environment.log == ["open", "gather"]


async def test_a_call_that_was_interrupted_fails_its_attempt_where_the_world_grades_by_itself() -> None:
    remembered: list[SessionStateChanged] = []

    async def remember(record: SessionStateChanged) -> None:
        remembered.append(record)

    environment = Elsewhere()
    first = Sessions(lambda *_: environment, open_answer=json.loads, seal=json.dumps, remember=remember)
    await first.answer(opening())
    turning = ToolCallRequested(id="t", turn=1, call=call("turn"), **IDS)
    assert isinstance((await first.answer(turning)).reply, ToolCallCompleted)
    second = sessions_of(environment)
    second.restore(remembered[-1])
    reply = (await second.answer(turning)).reply
    assert isinstance(reply, ToolCallFailed)
    assert reply.failure.kind is FailureKind.TOOL_INTERRUPTED
