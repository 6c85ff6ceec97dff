"""The rules of a session: how an environment's world is opened, acted in and closed.

Given an action, `Sessions.answer` says what the agent is told and what must be remembered. It does no I/O of its own:
the env-worker makes events and a changelog of the answers, `odradek.testing.play` uses them as they are.

- The actions of a session are answered one at a time, in the order in which they were asked for.
- A call of the last turn that comes again is answered from memory, never applied twice.
- A call that must be begun at most once (a tool with effects outside the session) is remembered as started before it
  is begun. When it comes again without an answer it was interrupted: it is not run, and the agent is told so.
- A program is begun at most once, too: one that was interrupted fails its attempt.
- An action that fails leaves the state as it was before it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import to_json

from odradek import session_records as records
from odradek import session_replies as replies
from odradek.environment import Environment
from odradek.plugins import UnknownPlugin, load_environment
from odradek.session_replies import SessionAction, SessionReply
from odradek.session_secrets import Secrets, read
from odradek.threads import in_thread
from odradek.tools import WorldFailed
from odradek_schemas.base import JsonObject
from odradek_schemas.events import (
    ProgramFailed,
    ProgramFinished,
    ProgramRequested,
    SessionClosed,
    SessionCloseRequested,
    SessionReady,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallRequested,
)
from odradek_schemas.failures import Failure, FailureKind

_MOST_ENVIRONMENTS = 64
"""Environments kept at hand, each with its settings."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action came to: the reply, the session's new state if it changed, whether the session has ended."""

    reply: SessionReply
    changed: SessionStateChanged | None = None
    ended: bool = False


@dataclass(slots=True)
class _Session:
    """An open session. `state` is the living object; None: it must be read from `record` again."""

    record: SessionStateChanged
    state: BaseModel | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    """What a session has for a program: `begin` to be awaited just before it begins, since it may not begin twice;
    `furnish` to fill its workspace, and `collect` to read that when it has ended."""

    begin: Callable[[], Awaitable[None]]
    furnish: Callable[[Path], None]
    collect: Callable[[Path], None]


Play = Callable[[ProgramRequested, Desk], Awaitable[ProgramFinished | ProgramFailed]]
"""Runs a program in a new workspace."""


async def no_programs(action: ProgramRequested, desk: Desk) -> ProgramFailed:
    """Where there is no model gateway for programs (ODRADEK_GATEWAY_URL, ODRADEK_ACCESS_SECRET_FILE)."""
    message = (
        "no programs are run here: give the env-worker ODRADEK_GATEWAY_URL and ODRADEK_ACCESS_SECRET_FILE"
    )
    failure = replies.fault(action, FailureKind.UNKNOWN_PROGRAM, message)
    return replies.program_failed(action, failure)


async def _remember_nothing(started: SessionStateChanged) -> None:
    """Where nothing outlives the process, nothing is to be remembered."""


class Sessions:
    """The open sessions of one partition, or of one test.

    `open_answer` opens a sealed answer for environments whose evidence needs it, and `seal` closes what they
    gather with it; a `Sessions` without them fails such sessions as `answer_unreadable`.
    `remember` returns when a session with a started call is where it survives the process. `play` runs programs.
    """

    def __init__(
        self,
        load: Callable[[str, JsonObject], Environment] = load_environment,
        open_answer: Callable[[str], JsonObject] | None = None,
        seal: Callable[[JsonObject], str] | None = None,
        remember: Callable[[SessionStateChanged], Awaitable[None]] = _remember_nothing,
        play: Play = no_programs,
    ) -> None:
        self._load = load
        self._secrets = Secrets(open_answer, seal)
        self._remember = remember
        self._play = play
        self._environments: dict[tuple[str, bytes], Environment] = {}
        self._open: dict[str, _Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def restore(self, record: SessionStateChanged) -> None:
        """Take in a session as it was last remembered."""
        self._open[record.session_id] = _Session(record)

    def forget(self, session_id: str) -> None:
        """Drop a session, if it is there."""
        self._open.pop(session_id, None)

    async def answer(self, action: SessionAction, seconds: float | None = None) -> Outcome:
        """Carry out one action within `seconds`, None: within its own `timeout_seconds`.

        Failures are replies too: nothing that the environment raises escapes.
        """
        try:
            async with asyncio.timeout(action.timeout_seconds if seconds is None else seconds) as deadline:
                return await self._apply(action)
        except WorldFailed as failed:
            failure = replies.fault(action, failed.kind, str(failed))
        except (
            BaseException
        ) as error:  # user code may raise anything, SystemExit too: it becomes a typed failure
            if _is_cancelled(error):
                raise
            if isinstance(error, TimeoutError) and deadline.expired():
                failure = replies.overdue(action)
            else:
                failure = replies.fault(action, FailureKind.ENVIRONMENT_ERROR, _describe(error))
        return self.fail(action, failure)

    def fail(self, action: SessionAction, failure: Failure) -> Outcome:
        """Answer an action that is not, or could not be, carried out. A session that can't be closed ends all the same."""
        if isinstance(action, ToolCallRequested):
            self._rewind(action.session_id)
            return Outcome(replies.call_failed(action, failure))
        if isinstance(action, ProgramRequested):
            self._rewind(action.session_id)
            return Outcome(replies.program_failed(action, failure))
        ended = isinstance(action, SessionCloseRequested) and action.session_id in self._open
        if ended:
            self.forget(action.session_id)
        return Outcome(replies.session_failed(action, failure), ended=ended)

    async def _apply(self, action: SessionAction) -> Outcome:
        if isinstance(action, SessionRequested):
            return await self._open_session(action)
        if isinstance(action, ToolCallRequested):
            return await self._call(action)
        if isinstance(action, ProgramRequested):
            return await self._run(action)
        return await self._close(action)

    async def _open_session(self, request: SessionRequested) -> Outcome:
        """A repeated request is answered as the first one was: a fresh world of the same task and seed looks the same."""
        environment = await self._environment(request)
        if environment.State is None:
            raise WorldFailed(
                FailureKind.ENVIRONMENT_ERROR, f"environment {environment.name!r} has no state, so no session"
            )
        task = read(environment.Task, request.task)
        state = await environment.open(task, self._secrets.answer(environment, request), request.seed)
        record = records.opened(request, self._secrets.write(environment, state))
        ready = SessionReady(
            **replies.names(request, "ready"),
            tools=request.tools or environment.tools(),
            observation=await in_thread(environment.observe, state),
            wants_transcript=environment.evidence_needs_transcript,
        )
        if request.session_id in self._open:
            return Outcome(ready)
        self._open[request.session_id] = _Session(record, state)
        return Outcome(ready, record)

    async def _call(self, action: ToolCallRequested) -> Outcome:
        session = self._session(action)
        record = session.record
        if action.id in record.answered:
            return Outcome(record.answered[action.id])
        if action.turn < record.turn:
            raise WorldFailed(
                FailureKind.TOOL_INTERRUPTED,
                f"call of turn {action.turn} in a session that is at turn {record.turn}: "
                "its answer is not remembered, and it is not applied twice",
            )
        environment = await self._environment(record.request)
        state = self._living(session, environment)
        if action.id in record.started:
            if environment.interrupted_fails:
                raise WorldFailed(
                    FailureKind.TOOL_INTERRUPTED, "the call was interrupted, and it is not begun again"
                )
            return _answered(
                session, action, self._secrets.write(environment, state), replies.interrupted(action)
            )
        function = action.call.function
        if environment.at_most_once(function.name):
            session.record = records.started(record, action)
            await self._remember(session.record)
        began = time.perf_counter()
        result = await environment.call(state, function.name, function.arguments)
        if self._open.get(action.session_id) is not session:
            raise WorldFailed(FailureKind.SESSION_LOST, "the session ended while the tool was at work")
        reply = replies.observation(action, result, (time.perf_counter() - began) * 1000)
        return _answered(session, action, self._secrets.write(environment, state), reply)

    async def _run(self, action: ProgramRequested) -> Outcome:
        session = self._session(action)
        if action.id in session.record.started:
            raise WorldFailed(
                FailureKind.TOOL_INTERRUPTED,
                f"program {action.program!r} was interrupted, and it is not begun again: its calls are made",
            )
        environment = await self._environment(session.record.request)
        state = self._living(session, environment)
        desk = Desk(
            partial(self._launch, session, action),
            partial(environment.furnish, state),
            partial(environment.collect, state),
        )
        reply = await self._play(action, desk)
        if self._open.get(action.session_id) is not session:
            raise WorldFailed(FailureKind.SESSION_LOST, "the session ended while the program was at work")
        session.record = records.played(session.record, action, self._secrets.write(environment, state))
        return Outcome(reply, session.record)

    async def _launch(self, session: _Session, action: ProgramRequested) -> None:
        session.record = records.begun(session.record, action.id)
        await self._remember(session.record)

    async def _close(self, action: SessionCloseRequested) -> Outcome:
        if action.discard:
            return await self._discard(action)
        session = self._session(action)
        environment = await self._environment(session.record.request)
        evidence, sealed = await self._evidence(session, environment, action)
        closed = SessionClosed(
            **replies.names(action, "closed"),
            evidence=evidence,
            sealed_evidence=sealed,
            final_state=None if environment.state_is_secret else session.record.state,
        )
        self.forget(action.session_id)
        return Outcome(closed, ended=True)

    async def _discard(self, action: SessionCloseRequested) -> Outcome:
        session = self._open.get(action.session_id)
        if session is not None:
            environment = await self._environment(session.record.request)
            await environment.leave(self._living(session, environment))
            self.forget(action.session_id)
        return Outcome(SessionClosed(**replies.names(action, "closed")), ended=session is not None)

    async def _evidence(
        self, session: _Session, environment: Environment, action: SessionCloseRequested
    ) -> tuple[JsonObject | None, str | None]:
        """The evidence as (open, sealed)."""
        request = session.record.request
        task = read(environment.Task, request.task)
        state = self._living(session, environment)
        answer = self._secrets.answer(environment, request)
        if environment.gathers_once(state):
            await self._begin_once(session, action)
        evidence = await environment.gather(state, task, answer, action.transcript)
        return self._secrets.evidence(environment, evidence)

    async def _begin_once(self, session: _Session, action: SessionCloseRequested) -> None:
        if action.id in session.record.started:
            raise WorldFailed(
                FailureKind.TOOL_INTERRUPTED,
                "gathering the evidence was interrupted, and it is not begun again",
            )
        session.record = records.begun(session.record, action.id)
        await self._remember(session.record)

    async def _environment(self, request: SessionRequested) -> Environment:
        key = request.environment, to_json(request.settings)
        known = self._environments.get(key)
        if known is None:
            try:
                known = await in_thread(self._load, request.environment, request.settings)
            except UnknownPlugin as error:
                raise WorldFailed(FailureKind.UNKNOWN_ENVIRONMENT, str(error)) from error
            if len(self._environments) >= _MOST_ENVIRONMENTS:
                self._environments.clear()
            self._environments[key] = known
        return known

    def _session(self, action: ToolCallRequested | ProgramRequested | SessionCloseRequested) -> _Session:
        session = self._open.get(action.session_id)
        if session is None:
            raise WorldFailed(FailureKind.SESSION_LOST, f"session {action.session_id} is not open here")
        return session

    def _living(self, session: _Session, environment: Environment) -> BaseModel:
        if session.state is None:
            session.state = self._secrets.read(environment, session.record.state)
        return session.state

    def _rewind(self, session_id: str) -> None:
        """Drop the living state: a failed call may have changed half of it, and its thread may still be at it."""
        if session := self._open.get(session_id):
            session.state = None


def _answered(
    session: _Session, action: ToolCallRequested, state: JsonObject, reply: ToolCallCompleted
) -> Outcome:
    session.record = records.answered(session.record, action, state, reply)
    return Outcome(reply, session.record)


def _is_cancelled(error: BaseException) -> bool:
    """Whether the one who asked has been cancelled, rather than something that user code was waiting for."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
