"""The sessions of one partition: actions in, observations and the changelog out."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from odradek.session_replies import SessionAction, fault, overdue
from odradek.sessions import Outcome, Sessions
from odradek.threads import running_in
from odradek_env_worker.flights import MOST_DEATHS, Flights, flight_of
from odradek_env_worker.rejects import rejected
from odradek_env_worker.threads import ToolThreads
from odradek_runtime.faults import reach
from odradek_runtime.records import Output, Outputs, Record, Tombstone
from odradek_schemas.codec import RecordError
from odradek_schemas.events import (
    Event,
    ProgramFailed,
    ProgramFinished,
    ProgramRequested,
    SessionCloseRequested,
    SessionRequested,
    SessionStateChanged,
    ToolCallRequested,
)
from odradek_schemas.events.base import now
from odradek_schemas.failures import Failure, FailureKind
from odradek_schemas.topics import MODEL_RESULTS, OBSERVATIONS, SESSIONS

AFTER_PROGRAM_SECONDS = 10.0
"""How long a program's end may take after its time: its processes are ended, and what it left is read."""


class SessionHost:
    """A `Handler`. The actions of a rollout must come one after another."""

    def __init__(
        self,
        sessions: Sessions,
        threads: ToolThreads,
        flights: Flights,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._sessions = sessions
        self._threads = threads
        self._flights = flights
        self._clock = clock
        self._closed = False

    @property
    def open_sessions(self) -> int:
        """How many sessions are open here; none once the partition is somebody else's."""
        return 0 if self._closed else len(self._sessions)

    def restore(self, key: str, event: Event | None) -> None:
        if isinstance(event, SessionStateChanged):
            self._sessions.restore(event)
        else:
            self._sessions.forget(key)

    async def handle(self, event: Event, record: Record) -> Outputs:
        assert isinstance(
            event, SessionRequested | ToolCallRequested | ProgramRequested | SessionCloseRequested
        ), event.type
        outcome = await self._answer(event)
        if isinstance(event, ToolCallRequested):
            reach("tool.done")
        return _outputs(event, outcome)

    async def _answer(self, action: SessionAction) -> Outcome:
        """What ended workers before is not begun; nor is what is past its time, which began when it was asked."""
        if isinstance(action, SessionCloseRequested) and action.discard:
            return await self._sessions.answer(action)
        if isinstance(action, ProgramRequested):
            return await self._let_play(action)
        flight = flight_of(action)
        deaths = self._flights.deaths(flight)
        if deaths >= MOST_DEATHS:
            return self._sessions.fail(action, _killing(action, deaths))
        async with self._flights.turn(flight):
            seconds = action.timeout_seconds - (self._clock() - action.time).total_seconds()
            if seconds <= 0:
                return self._sessions.fail(action, overdue(action))
            with self._flights.noted(flight), running_in(self._threads.run):
                return await self._sessions.answer(action, min(seconds, action.timeout_seconds))

    async def _let_play(self, action: ProgramRequested) -> Outcome:
        """A program has a process of its own, so it ends no worker; its own time ends it."""
        most = action.timeout_seconds + AFTER_PROGRAM_SECONDS
        seconds = most - (self._clock() - action.time).total_seconds()
        if seconds <= 0:
            return self._sessions.fail(action, overdue(action))
        with running_in(self._threads.run):
            return await self._sessions.answer(action, min(seconds, most))

    def reject(self, record: Record, error: RecordError) -> Outputs:
        """A session whose end can't be read ends without evidence: nobody will ask for it again."""
        failure = rejected(record, error)
        if failure is None:
            return []
        outputs: Outputs = [Output(_topic(failure), failure)]
        if record.envelope.type == "SessionCloseRequested":
            self._sessions.forget(failure.session_id)
            outputs.append(Tombstone(SESSIONS.name, failure.session_id))
        return outputs

    def control(self, event: Event) -> None:
        """Nothing to do: the agent-worker closes the sessions of a cancelled run."""

    async def close(self) -> None:
        """Sessions live in the changelog; there is nothing else to put away."""
        self._closed = True


def remembering(
    commit: Callable[[Outputs], Awaitable[None]],
) -> Callable[[SessionStateChanged], Awaitable[None]]:
    """How a started call is remembered: the changelog is committed before the tool is begun."""

    async def remember(session: SessionStateChanged) -> None:
        await commit([Output(SESSIONS.name, session)])
        reach("tool.started")

    return remember


def _topic(reply: Event) -> str:
    """A program's end comes behind its calls."""
    return MODEL_RESULTS.name if isinstance(reply, ProgramFinished | ProgramFailed) else OBSERVATIONS.name


def _killing(action: SessionAction, deaths: int) -> Failure:
    message = f"its worker died {deaths} times while it was at work on this: it is not begun again"
    return fault(action, FailureKind.ENVIRONMENT_KILLED, message)


def _outputs(action: SessionAction, outcome: Outcome) -> Outputs:
    outputs: Outputs = [Output(_topic(outcome.reply), outcome.reply)]
    if outcome.changed is not None:
        outputs.append(Output(SESSIONS.name, outcome.changed))
    if outcome.ended:
        outputs.append(Tombstone(SESSIONS.name, action.session_id))
    return outputs
