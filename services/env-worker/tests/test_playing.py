"""Agent programs in sessions: what they are given, what their end comes to, and that none is begun twice."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from odradek.environment import Environment
from odradek.programs import Call, Outcome, Program, Trouble, UnknownProgram
from odradek.sessions import Sessions
from odradek_env_worker.flights import Flights
from odradek_env_worker.gateway import Gateway
from odradek_env_worker.host import AFTER_PROGRAM_SECONDS, SessionHost, remembering
from odradek_env_worker.playing import Player
from odradek_env_worker.threads import ToolThreads
from odradek_runtime.access import Access, Signer
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import Envelope, InvalidValue
from odradek_schemas.events import (
    Event,
    ProgramFailed,
    ProgramFinished,
    ProgramRequested,
    SessionCloseRequested,
    SessionRequested,
    SessionStateChanged,
)
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Sampling
from odradek_schemas.rollouts import Reward, Trajectory

NOW = datetime(2100, 1, 1, tzinfo=UTC)
"""Tokens expire by the true clock."""
SIGNER = Signer(b"a secret that is long enough to sign with")
SESSION = "run/0/0/1"
AGENT = Program(
    name="agent",
    dialect="chat",
    streams=False,
    command=("agent", "{prompt}"),
    environment={"KEY": "{token}", "URL": "{base_url}"},
)


class Desk(Environment):
    """A desk with one note on it."""

    name = "desk"

    class Task(BaseModel):
        pass

    class State(BaseModel):
        note: str = "before"

    def furnish(self, state: State, workspace: Path) -> None:
        (workspace / "note").write_text(state.note)

    def collect(self, state: State, workspace: Path) -> None:
        state.note = (workspace / "note").read_text()

    def evidence(self, state: State, task: Task, answer: object) -> dict[str, Any]:
        return {"note": state.note}

    def verify(self, trajectory: Trajectory, answer: object) -> Reward:
        return Reward(reward=0.0)


class Programs:
    """Programs that are played by the test: each turns the note around. `calls`: what they were called with."""

    def __init__(self, outcome: Outcome) -> None:
        self.calls: list[tuple[Call, float]] = []
        self.workspaces: list[Path] = []
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self._outcome = outcome

    def find(self, name: str) -> Program:
        if name != "agent":
            raise UnknownProgram(name, ["agent"])
        return AGENT

    async def run(self, program: Program, call: Call, workspace: Path, seconds: float) -> Outcome:
        self.calls.append((call, seconds))
        self.workspaces.append(workspace)
        self.begun.set()
        await self.gate.wait()
        note = workspace / "note"
        note.write_text(note.read_text()[::-1])
        return self._outcome


def _give_up() -> None:
    raise AssertionError("gave up without a reason")


class FixedGateway(Gateway):
    """One that is there, or away for good; `waited`: for how often it was waited."""

    def __init__(self, there: bool) -> None:
        super().__init__("http://gateway")
        self._there = there
        self.waited = 0

    async def is_there(self) -> bool:
        return self._there

    async def comes_back(self, seconds: float = 0.0) -> bool:
        self.waited += 1
        return False


THERE = FixedGateway(there=True)


def host_of(
    programs: Programs, committed: list[Output], clock: datetime = NOW, gateway: Gateway | None = None
) -> SessionHost:
    async def commit(outputs: Outputs) -> None:
        committed.extend(output for output in outputs if isinstance(output, Output))

    player = Player(gateway or THERE, SIGNER, 1, programs.find, programs.run, lambda: clock)
    sessions = Sessions(lambda *_: Desk(), remember=remembering(commit), play=player.at(3))
    return SessionHost(sessions, ToolThreads(2, 1, _give_up), Flights(None), lambda: clock)


def ids(what: str) -> dict[str, Any]:
    return {
        "id": f"{SESSION}/{what}",
        "run_id": "run",
        "rollout_id": "run/0/0",
        "session_id": SESSION,
        "time": NOW,
        "timeout_seconds": 60.0,
    }


def running(program: str = "agent") -> ProgramRequested:
    return ProgramRequested(
        **ids("2"),
        program=program,
        prompt="Turn it.",
        model="m",
        sampling=Sampling(temperature=1.0),
        model_seconds=9.0,
    )


def record_of(event: Event) -> Record:
    envelope = Envelope(event.type, event.id, event.run_id, event.rollout_id, None, None, None)
    return Record("tool-actions", 3, 9, event.key.encode(), b"{}", (), envelope)


async def tell(host: SessionHost, action: Any) -> list[Output]:
    return [output for output in await host.handle(action, record_of(action)) if isinstance(output, Output)]


async def played(outcome: Outcome, action: ProgramRequested | None = None) -> tuple[list[Output], Programs]:
    """What comes of a program in a session that was just opened."""
    programs = Programs(outcome)
    host = host_of(programs, [])
    await tell(host, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    return await tell(host, action or running()), programs


async def test_a_program_works_on_the_sessions_state_and_its_end_comes_behind_its_calls() -> None:
    programs, committed = Programs(Outcome(result="Turned.", exit_code=0, log_tail="log")), []
    host = host_of(programs, committed)
    await tell(host, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    reply, changed = await tell(host, running())
    assert reply.topic == "model-results"
    assert isinstance(reply.event, ProgramFinished)
    assert (reply.event.call_id, reply.event.result, reply.event.exit_code) == (f"{SESSION}/2", "Turned.", 0)
    assert (reply.event.failed, reply.event.overdue, reply.event.log) == (None, False, "log")
    (begun,) = committed
    assert isinstance(begun.event, SessionStateChanged)
    assert begun.event.started == [f"{SESSION}/2"]
    assert isinstance(changed.event, SessionStateChanged)
    assert (changed.event.state, changed.event.started) == ({"note": "erofeb"}, [])
    (closed, *_) = await tell(host, SessionCloseRequested(**ids("close")))
    assert closed.event.evidence == {"note": "erofeb"}  # type: ignore[attr-defined]
    assert not programs.workspaces[0].exists()


async def test_its_token_is_for_its_own_calls_until_its_time_is_up() -> None:
    _, programs = await played(Outcome(result=""))
    ((call, seconds),) = programs.calls
    assert (call.prompt, call.model, call.base_url, seconds) == ("Turn it.", "m", "http://gateway", 60.0)
    assert SIGNER.read(call.token) == Access(
        run_id="run",
        rollout_id="run/0/0",
        program_id=f"{SESSION}/2",
        partition=3,
        model="m",
        sampling=Sampling(temperature=1.0),
        model_seconds=9.0,
        issued=NOW,
        expires=NOW + timedelta(seconds=60),
    )


@pytest.mark.parametrize(
    ("outcome", "overdue"),
    [
        (Outcome(trouble=Trouble.EXIT_CODE, reason="exit code 3", exit_code=3), False),
        (Outcome(trouble=Trouble.TIMED_OUT, reason="too long"), True),
    ],
)
async def test_a_program_that_failed_has_ended_all_the_same(outcome: Outcome, overdue: bool) -> None:
    (reply, *_), _ = await played(outcome)
    assert isinstance(reply.event, ProgramFinished)
    assert (reply.event.failed, reply.event.overdue) == (outcome.reason, overdue)


@pytest.mark.parametrize("trouble", [Trouble.NOT_INSTALLED, Trouble.NOT_CALLABLE, Trouble.UNREACHABLE])
async def test_one_that_never_began_could_not_be_run(trouble: Trouble) -> None:
    (reply, *_), _ = await played(Outcome(trouble=trouble, reason="not there"))
    assert isinstance(reply.event, ProgramFailed)
    assert (reply.topic, reply.event.failure.kind) == ("model-results", FailureKind.UNKNOWN_PROGRAM)


async def test_an_unknown_one_is_named() -> None:
    (reply, *_), _ = await played(Outcome(), running("nobody"))
    assert isinstance(reply.event, ProgramFailed)
    assert reply.event.failure.kind is FailureKind.UNKNOWN_PROGRAM
    assert "nobody" in reply.event.failure.message


async def test_one_that_was_interrupted_is_not_begun_again() -> None:
    """Caught: a program that is run twice, and whose calls are paid twice."""
    programs, committed = Programs(Outcome(result="")), []
    first = host_of(programs, committed)
    await tell(first, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    await tell(first, running())
    heir = host_of(programs, [])
    heir.restore(SESSION, committed[0].event)
    (reply,) = await tell(heir, running())
    assert isinstance(reply.event, ProgramFailed)
    assert reply.event.failure.kind is FailureKind.TOOL_INTERRUPTED
    assert len(programs.calls) == 1


@pytest.mark.parametrize("late", [60.0, 60.0 + AFTER_PROGRAM_SECONDS])
async def test_past_its_time_it_is_not_begun(late: float) -> None:
    programs = Programs(Outcome(result=""))
    host = host_of(programs, [], NOW + timedelta(seconds=late))
    early = host_of(programs, [])
    (_, opened) = await tell(early, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    host.restore(SESSION, opened.event)
    (reply, *_) = await tell(host, running())
    assert isinstance(reply.event, ProgramFailed)
    assert (reply.topic, reply.event.failure.kind) == ("model-results", FailureKind.PROGRAM_DEADLINE)
    assert programs.calls == []


async def test_where_no_gateway_is_known_it_says_what_is_missing() -> None:
    host = SessionHost(Sessions(lambda *_: Desk()), ToolThreads(2, 1, _give_up), Flights(None), lambda: NOW)
    await tell(host, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    (reply, *_) = await tell(host, running())
    assert isinstance(reply.event, ProgramFailed)
    assert "ODRADEK_GATEWAY_URL" in reply.event.failure.message


def test_a_request_that_can_not_be_read_fails_the_program() -> None:
    host = host_of(Programs(Outcome()), [])
    record = record_of(running())
    (reply,) = host.reject(record, InvalidValue(record.coordinates, "not JSON"))
    assert isinstance(reply, Output)
    assert reply.topic == "model-results"
    assert isinstance(reply.event, ProgramFailed)
    assert (reply.event.call_id, reply.event.failure.kind) == (f"{SESSION}/2", FailureKind.UNREADABLE_RECORD)


async def test_one_that_finds_no_place_in_time_was_not_begun() -> None:
    """One at a time: what waits is nowhere noted as begun, and its failure says what to do."""
    programs, committed = Programs(Outcome(result="")), list[Output]()
    programs.gate.clear()
    host = host_of(programs, committed)
    await tell(host, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    under_way = asyncio.ensure_future(tell(host, running()))
    await programs.begun.wait()
    short = running().model_copy(update={"id": f"{SESSION}/3", "timeout_seconds": 0.05})
    (reply, *_) = await tell(host, short)
    assert isinstance(reply.event, ProgramFailed)
    assert reply.event.failure.kind is FailureKind.PROGRAM_DEADLINE
    assert "ODRADEK_PROGRAMS" in reply.event.failure.message
    programs.gate.set()
    await under_way
    assert len(committed) == len(programs.calls) == 1


async def test_a_failure_while_the_gateway_is_away_is_not_the_programs() -> None:
    """Caught: rollouts that are given up because a gateway was restarted."""
    gateway = FixedGateway(there=False)
    programs = Programs(Outcome(trouble=Trouble.EXIT_CODE, reason="connection refused", exit_code=1))
    host = host_of(programs, [], gateway=gateway)
    await tell(host, SessionRequested(**ids("open"), environment="desk", task={}, seed=0))
    (reply, *_) = await tell(host, running())
    assert isinstance(reply.event, ProgramFailed)
    assert reply.event.failure.kind is FailureKind.GATEWAY_UNAVAILABLE
    assert reply.event.failure.retried
    assert gateway.waited == 1


async def test_a_gateway_is_there_while_it_listens() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    gateway = Gateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert await gateway.is_there()
    assert await gateway.comes_back(0.0)
    server.close()
    await server.wait_closed()
    assert not await gateway.is_there()
    assert not await gateway.comes_back(0.3)
