"""Playing a rollout in one process: the same engine, session rules and verifier as in the workers, a scripted model.

What the log would carry goes through JSON here too, so an environment whose state does not survive it fails its test.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from odradek.engine import Decision, RolloutMachine
from odradek.engine.decision import Request
from odradek.environment import Environment
from odradek.harness import Harness
from odradek.judging import Unscored, advance
from odradek.plugins import load_harness
from odradek.rows import TaskRow
from odradek.sessions import Sessions
from odradek_schemas.base import JsonObject
from odradek_schemas.events import (
    JournalInput,
    ModelAccessEnded,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    RolloutRequested,
    TimerFired,
)
from odradek_schemas.failures import Failure
from odradek_schemas.messages import FunctionCall, Message, ToolCall, Usage
from odradek_schemas.rollouts import Group, Limits, Question, Reward, RolloutStatus, Trajectory
from odradek_schemas.rollouts import Reply as Judged

Reply = str | ToolCall | Sequence[ToolCall] | Message | Failure
"""A scripted reply: text, one or several tool calls, a whole message, or a call that fails."""

_START = datetime(2026, 1, 1, tzinfo=UTC)
_TICK = timedelta(milliseconds=1)
_MODEL = "scripted"


class ScriptTooShort(AssertionError):
    """The rollout asked the model once more than there are scripted replies."""


@dataclass(frozen=True, slots=True)
class Played:
    """How it went. `reward` is None where a worker would mask it: the rollout failed, was cancelled, or is `Unscored`."""

    trajectory: Trajectory
    reward: Reward | None
    replies_left: int

    @property
    def observations(self) -> list[str]:
        """What the tools answered, in order."""
        played = self.trajectory.messages[self.trajectory.prompt_messages :]
        return [message.text for message in played if message.role == "tool"]


def call(name: str, /, **arguments: object) -> ToolCall:
    """A scripted call of the tool `name`."""
    return raw_call(name, json.dumps(arguments))


def raw_call(name: str, arguments: str) -> ToolCall:
    """A scripted call whose arguments are text as a model might write it, valid or not."""
    return ToolCall(id="", function=FunctionCall(name=name, arguments=arguments))


def play(
    environment: Environment,
    task: BaseModel | Mapping[str, Any],
    replies: Iterable[Reply],
    *,
    answer: BaseModel | None = None,
    harness: Harness | str | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    judge: Callable[[Question], str | Failure] | None = None,
) -> Played:
    """Play one rollout of `task` against scripted replies, and score it.

    `task` is a row of a data set, or a `Task` with its `answer`. `harness` is one, its name, or None for the
    environment's own. `judge` answers what the verifier asks. Sleeps and deadlines of the rollout pass at once. From a coroutine, await `play_async`.

    Raises:
        RowError: the row does not fit the environment.
        ScriptTooShort: the harness asks for more replies than there are.
    """
    return asyncio.run(
        play_async(
            environment,
            task,
            replies,
            answer=answer,
            harness=harness,
            seed=seed,
            limits=limits,
            judge=judge,
        )
    )


async def play_async(
    environment: Environment,
    task: BaseModel | Mapping[str, Any],
    replies: Iterable[Reply],
    *,
    answer: BaseModel | None = None,
    harness: Harness | str | None = None,
    seed: int = 0,
    limits: Limits | None = None,
    judge: Callable[[Question], str | Failure] | None = None,
) -> Played:
    """`play`, on the running event loop."""
    row = environment.split(_as_row(task, answer))
    script = deque(replies)
    chosen = harness if isinstance(harness, Harness) else load_harness(harness or environment.harness)
    request = _request(environment, row, chosen, seed, limits or Limits())
    trajectory = await _Table(environment, request, chosen, script).play()
    return Played(trajectory, _scored(environment, trajectory, row, judge), len(script))


class _Table:
    """One rollout's machine, its world and its model, and the clock between them."""

    def __init__(
        self, environment: Environment, request: RolloutRequested, harness: Harness, script: deque[Reply]
    ) -> None:
        self._request = request
        self._machine = RolloutMachine(request, harness)
        self._sessions = Sessions(lambda *_: environment, open_answer=json.loads, seal=json.dumps)
        self._script = script
        self._asked = 0
        self._now = _START

    async def play(self) -> Trajectory:
        decision = self._accept(self._request)
        waiting: deque[Request] = deque()
        while decision is None or decision.finished is None:
            waiting.extend(decision.requests if decision else ())
            event = await self._carry_out(waiting.popleft()) if waiting else self._next_timer()
            decision = self._accept(event)
        for request in decision.requests:
            await self._carry_out(request)
        written = decision.finished.trajectory.model_dump_json()
        return Trajectory.model_validate_json(written)

    def _accept(self, event: JournalInput) -> Decision | None:
        self._now += _TICK
        return self._machine.accept(event, self._now)

    async def _carry_out(self, request: Request) -> JournalInput:
        if isinstance(request, ModelCallRequested):
            return self._reply(request)
        assert not isinstance(request, ModelAccessEnded), "no program runs here"
        outcome = await self._sessions.answer(request)
        if outcome.changed is not None:
            written = outcome.changed.model_dump_json()
            self._sessions.restore(type(outcome.changed).model_validate_json(written))
        return outcome.reply

    def _reply(self, request: ModelCallRequested) -> ModelCallCompleted | ModelCallFailed:
        self._asked += 1
        if not self._script:
            last = request.messages[-1]
            raise ScriptTooShort(
                f"the rollout wants reply {self._asked} after {last.role}: {last.text[:200]!r}, and there is none"
            )
        reply = self._script.popleft()
        run_id, rollout_id = request.run_id, request.rollout_id
        if isinstance(reply, Failure):
            failed_id = f"{request.id}/failed"
            return ModelCallFailed(
                id=failed_id, run_id=run_id, rollout_id=rollout_id, call_id=request.id, failure=reply
            )
        message = _as_message(reply, self._asked)
        return ModelCallCompleted(
            id=f"{request.id}/completed",
            run_id=run_id,
            rollout_id=rollout_id,
            call_id=request.id,
            model=_MODEL,
            message=message,
            finish_reason="tool_calls" if message.tool_calls else "stop",
            usage=Usage(),
            latency_ms=0.0,
        )

    def _next_timer(self) -> TimerFired:
        """Nothing is on its way: let the time pass until something is due."""
        due, timer = min(self._machine.timers())
        self._now = max(self._now, due)
        rollout_id = self._request.rollout_id
        return TimerFired(
            id=f"{rollout_id}/{timer}/fired", run_id=self._request.run_id, rollout_id=rollout_id, timer=timer
        )


def _as_row(task: BaseModel | Mapping[str, Any], answer: BaseModel | None) -> JsonObject:
    if not isinstance(task, BaseModel):
        return dict(task)
    row: JsonObject = {"task": task.model_dump(mode="json")}
    return row if answer is None else row | {"answer": answer.model_dump(mode="json")}


def _as_message(reply: str | ToolCall | Sequence[ToolCall] | Message, turn: int) -> Message:
    if isinstance(reply, Message):
        return reply
    if isinstance(reply, str):
        return Message(role="assistant", content=reply)
    calls = [reply] if isinstance(reply, ToolCall) else reply
    named = [
        tool_call.model_copy(update={"id": tool_call.id or f"call_{turn}_{index}"})
        for index, tool_call in enumerate(calls)
    ]
    return Message(role="assistant", tool_calls=named)


def _request(
    environment: Environment, row: TaskRow, harness: Harness, seed: int, limits: Limits
) -> RolloutRequested:
    return RolloutRequested(
        id="test/0/0",
        run_id="test",
        rollout_id="test/0/0",
        time=_START,
        group=Group(task_id="test/0", size=1),
        sample=0,
        environment=environment.name,
        harness=harness.name,
        model=_MODEL,
        messages=row.messages,
        tools=row.tools,
        session=environment.has_session,
        task=row.task,
        sealed_answer=None if row.answer is None else json.dumps(row.answer),
        seed=seed,
        sampling=row.sampling,
        limits=limits,
    )


def _scored(
    environment: Environment,
    trajectory: Trajectory,
    row: TaskRow,
    judge: Callable[[Question], str | Failure] | None,
) -> Reward | None:
    """The reward, from the record as the verifier-worker shows it: with sealed evidence opened."""
    if trajectory.status not in (RolloutStatus.COMPLETED, RolloutStatus.TRUNCATED):
        return None
    if trajectory.sealed_evidence is not None:
        opened = json.loads(trajectory.sealed_evidence)
        trajectory = trajectory.model_copy(update={"evidence": opened})
    answer = environment.Answer and environment.Answer.model_validate(row.answer)
    rounds: list[list[Judged]] = []
    while True:
        try:
            outcome = advance(environment.verify(trajectory, answer), rounds)
        except Unscored:
            return None
        if isinstance(outcome, Reward):
            return outcome
        rounds.append([_judged(question, judge) for question in outcome])


def _judged(question: Question, judge: Callable[[Question], str | Failure] | None) -> Judged:
    if judge is None:
        raise ScriptTooShort(f"the verifier asks a judge {question.name!r}, and there is no `judge`")
    said = judge(question)
    if isinstance(said, Failure):
        return Judged(question=question.name, failure=said)
    return Judged(question=question.name, message=Message(role="assistant", content=said))
