"""The env-worker's handler: actions in; observations, changelog and tombstones out."""

import json
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from odradek.environment import Environment
from odradek.plugins import load_environment
from odradek.session_replies import SessionAction
from odradek.sessions import Sessions
from odradek.tools import tool
from odradek_env_worker.app import create_processor
from odradek_env_worker.flights import MOST_DEATHS, Flights, flight_of
from odradek_env_worker.host import SessionHost
from odradek_env_worker.settings import EnvSettings
from odradek_env_worker.threads import ToolThreads
from odradek_runtime.records import Output, Outputs, Record, Tombstone
from odradek_schemas.codec import BlobMissing, Envelope, InvalidValue
from odradek_schemas.events import (
    Event,
    RunCancelled,
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
from odradek_schemas.failures import FailureKind, Stage
from odradek_schemas.messages import FunctionCall, ToolCall
from odradek_schemas.rollouts import Reward, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = "run/0/0/1"


class Lamp(Environment):
    """A lamp to switch."""

    name = "lamp"

    class Task(BaseModel):
        pass

    class State(BaseModel):
        switched: int = 0

    @tool
    def switch(self, state: State) -> str:
        """Switch the lamp."""
        state.switched += 1
        return threading.current_thread().name

    @tool
    async def flicker(self, state: State) -> str:
        """Switch the lamp without ever giving way."""
        state.switched += 1
        return "flickered"

    def evidence(self, state: State, task: Task, answer: object) -> dict[str, Any]:
        return {"switched": state.switched}

    def verify(self, trajectory: Trajectory, answer: object) -> Reward:
        return Reward(reward=0.0)


class Watched(Lamp):
    """A lamp with a tool that asks how often its call was at work when the worker died, were it to die now."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @tool
    def look(self, state: Lamp.State) -> str:
        """Look at the note."""
        copy = shutil.copy(self._path, self._path.with_name("copy"))
        return str(Flights(copy).deaths(flight_of(_switching(name="look"))))


def _give_up() -> None:
    raise AssertionError("gave up without a reason")


@pytest.fixture
def host() -> SessionHost:
    return _host()


def _host() -> SessionHost:
    return SessionHost(Sessions(lambda *_: Lamp()), ToolThreads(2, 1, _give_up), Flights(None), lambda: NOW)


def _opening(asked: datetime = NOW, seconds: float = 10.0) -> SessionRequested:
    return SessionRequested(
        **_ids("open", asked), environment="lamp", task={}, seed=0, timeout_seconds=seconds
    )


def _switching(step: int = 1, asked: datetime = NOW, name: str = "switch") -> ToolCallRequested:
    call = ToolCall(id="c", function=FunctionCall(name=name, arguments="{}"))
    return ToolCallRequested(**_ids(str(step), asked), turn=1, call=call, timeout_seconds=10.0)


def _closing(asked: datetime = NOW, discard: bool = False) -> SessionCloseRequested:
    return SessionCloseRequested(**_ids("close", asked), discard=discard, timeout_seconds=10.0)


def _ids(what: str, asked: datetime) -> dict[str, Any]:
    return {
        "id": f"{SESSION}/{what}",
        "run_id": "run",
        "rollout_id": "run/0/0",
        "session_id": SESSION,
        "time": asked,
    }


def _record(event: Event) -> Record:
    envelope = Envelope(event.type, event.id, event.run_id, event.rollout_id, None, None, None)
    return Record("tool-actions", 3, 9, event.key.encode(), b"{}", (), envelope)


async def _tell(host: SessionHost, action: SessionAction) -> Outputs:
    return await host.handle(action, _record(action))


def _reply(outputs: Outputs) -> Event:
    assert isinstance(outputs[0], Output)
    assert outputs[0].topic == "observations"
    return outputs[0].event


def _remembered(outputs: Outputs) -> SessionStateChanged:
    assert isinstance(outputs[1], Output)
    assert outputs[1].topic == "sessions"
    assert isinstance(outputs[1].event, SessionStateChanged)
    return outputs[1].event


async def test_a_session_s_life_leaves_observations_and_a_changelog(host: SessionHost) -> None:
    opened = await _tell(host, _opening())
    assert isinstance(_reply(opened), SessionReady)
    assert _remembered(opened).state == {"switched": 0}

    called = await _tell(host, _switching())
    assert isinstance(_reply(called), ToolCallCompleted)
    assert _remembered(called).state == {"switched": 1}
    assert _remembered(called).key == SESSION

    closed = await _tell(host, _closing())
    reply = _reply(closed)
    assert isinstance(reply, SessionClosed)
    assert (reply.evidence, reply.final_state) == ({"switched": 1}, {"switched": 1})
    assert closed[1:] == [Tombstone("sessions", SESSION)]


async def test_plain_tools_run_in_the_worker_s_threads(host: SessionHost) -> None:
    await _tell(host, _opening())
    reply = _reply(await _tell(host, _switching()))
    assert isinstance(reply, ToolCallCompleted)
    assert reply.content.startswith("tool-")


async def test_a_new_owner_goes_on_where_the_old_one_was(host: SessionHost) -> None:
    await _tell(host, _opening())
    remembered = _remembered(await _tell(host, _switching()))
    heir = _host()
    heir.restore(SESSION, remembered)
    again = await _tell(heir, _switching())
    assert len(again) == 1
    assert isinstance(_reply(again), ToolCallCompleted)
    assert _remembered(await _tell(heir, _switching(2))).state == {"switched": 2}


async def test_a_tombstone_ends_a_restored_session(host: SessionHost) -> None:
    remembered = _remembered(await _tell(host, _opening()))
    heir = _host()
    heir.restore(SESSION, remembered)
    heir.restore(SESSION, None)
    reply = _reply(await _tell(heir, _switching()))
    assert isinstance(reply, ToolCallFailed)
    assert reply.failure.kind is FailureKind.SESSION_LOST


async def test_closing_twice_is_answered_twice(host: SessionHost) -> None:
    await _tell(host, _opening())
    await _tell(host, _closing())
    lost = _reply(await _tell(host, _closing()))
    assert isinstance(lost, SessionFailed)
    assert lost.failure.kind is FailureKind.SESSION_LOST
    discarded = await _tell(host, _closing(discard=True))
    assert isinstance(_reply(discarded), SessionClosed)
    assert len(discarded) == 1


@pytest.mark.parametrize("name", ["switch", "flicker"])
async def test_what_was_asked_for_too_long_ago_is_not_begun(host: SessionHost, name: str) -> None:
    await _tell(host, _opening())
    long_ago = NOW - timedelta(seconds=11)
    late = await _tell(host, _switching(asked=long_ago, name=name))
    reply = _reply(late)
    assert isinstance(reply, ToolCallFailed)
    assert reply.failure.kind is FailureKind.TOOL_DEADLINE
    assert len(late) == 1
    assert _remembered(await _tell(host, _switching(2))).state == {"switched": 1}


async def test_a_close_that_comes_too_late_still_ends_the_session(host: SessionHost) -> None:
    long_ago = NOW - timedelta(seconds=11)
    await _tell(host, _opening())
    late = await _tell(host, _closing(asked=long_ago))
    assert isinstance(_reply(late), SessionFailed)
    assert late[1:] == [Tombstone("sessions", SESSION)]

    await _tell(host, _opening())
    discarded = await _tell(host, _closing(asked=long_ago, discard=True))
    assert isinstance(_reply(discarded), SessionClosed)
    assert discarded[1:] == [Tombstone("sessions", SESSION)]


async def test_a_late_session_is_not_opened(host: SessionHost) -> None:
    late = await _tell(host, _opening(asked=NOW - timedelta(seconds=11)))
    reply = _reply(late)
    assert isinstance(reply, SessionFailed)
    assert reply.failure.kind is FailureKind.SESSION_DEADLINE
    assert len(late) == 1


def test_an_unreadable_call_fails_by_the_ids_of_its_headers(host: SessionHost) -> None:
    record = _record(_switching(4))
    (output,) = host.reject(record, InvalidValue(record.coordinates, "cut short"))
    assert isinstance(output, Output)
    failed = output.event
    assert isinstance(failed, ToolCallFailed)
    assert (failed.id, failed.call_id) == (f"{SESSION}/4/failed", f"{SESSION}/4")
    assert (failed.session_id, failed.rollout_id, failed.run_id) == (SESSION, "run/0/0", "run")
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.UNREADABLE_RECORD, Stage.TRANSPORT)


async def test_an_unreadable_close_ends_the_session(host: SessionHost) -> None:
    await _tell(host, _opening())
    record = _record(_closing())
    failed, tombstone = host.reject(record, BlobMissing(record.coordinates, "not there"))
    assert isinstance(failed, Output)
    assert isinstance(failed.event, SessionFailed)
    assert failed.event.id == f"{SESSION}/failed"
    assert failed.event.failure.kind is FailureKind.BLOB_UNREADABLE
    assert tombstone == Tombstone("sessions", SESSION)
    assert isinstance(_reply(await _tell(host, _switching())), ToolCallFailed)


def test_an_unreadable_record_of_no_session_is_nobody_s_failure(host: SessionHost) -> None:
    envelope = Envelope("ToolCallRequested", "something", "run", "run/0/0", None, None, None)
    record = Record("tool-actions", 0, 1, None, b"", (), envelope)
    assert host.reject(record, InvalidValue(record.coordinates, "cut short")) == []


async def test_a_cancelled_run_s_sessions_stay_until_they_are_closed(host: SessionHost) -> None:
    await _tell(host, _opening())
    host.control(RunCancelled(id="run/cancelled", run_id="run", reason="asked to"))
    assert isinstance(_reply(await _tell(host, _closing(discard=True))), SessionClosed)


def test_the_worker_handles_a_rollout_s_actions_in_order_and_keeps_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ODRADEK_SEALING_PRIVATE_KEY_FILE", raising=False)
    monkeypatch.delenv("ODRADEK_SEALING_PUBLIC_KEY_FILE", raising=False)
    processor = create_processor(EnvSettings())
    assert (processor.inputs, processor.changelog, processor.ordered) == (("tool-actions",), "sessions", True)


@pytest.mark.parametrize(
    "name", ["example_multi_step", "example_session_state_mgmt", "example_single_tool_call"]
)
async def test_the_built_in_environments_play(name: str) -> None:
    environment = load_environment(name)
    host = SessionHost(Sessions(), ToolThreads(2, 1, _give_up), Flights(None), lambda: NOW)
    row = environment.split(json.loads(environment.examples().read_text().splitlines()[0]))
    opening = _opening().model_copy(update={"environment": name, "task": row.task, "tools": row.tools})
    assert isinstance(_reply(await _tell(host, opening)), SessionReady)
    assert isinstance(_reply(await _tell(host, _closing())), SessionClosed)


async def test_an_action_that_ended_its_worker_again_and_again_is_not_begun(tmp_path: Path) -> None:
    """Neither a tool nor the world's own code, nor the same call in a later attempt; the session is left as it was."""
    path = tmp_path / "flights"
    deadly = [flight_of(_switching(1, name="flicker")), flight_of(_closing())]
    path.write_text("".join(f"{MOST_DEATHS} {flight}\n" for flight in deadly))
    host = SessionHost(Sessions(lambda *_: Lamp()), ToolThreads(2, 1, _give_up), Flights(path), lambda: NOW)
    await _tell(host, _opening())
    await _tell(host, _switching(1))
    failed = _reply(await _tell(host, _switching(2, name="flicker")))
    assert isinstance(failed, ToolCallFailed)
    assert (failed.failure.kind, failed.failure.stage) == (FailureKind.ENVIRONMENT_KILLED, Stage.TOOL)
    assert _remembered(await _tell(host, _switching(3))).state == {"switched": 2}
    closed = await _tell(host, _closing())
    assert isinstance(_reply(closed), SessionFailed)
    assert isinstance(closed[1], Tombstone)


async def test_what_is_past_its_time_is_not_cleared(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    overdue = _switching(1, asked=NOW - timedelta(seconds=60))
    path.write_text(f"1 {flight_of(overdue)}\n")
    flights = Flights(path)
    host = SessionHost(Sessions(lambda *_: Lamp()), ToolThreads(2, 1, _give_up), flights, lambda: NOW)
    await _tell(host, _opening())
    assert isinstance(_reply(await _tell(host, overdue)), ToolCallFailed)
    assert flights.deaths(flight_of(overdue)) == 1


async def test_an_action_at_work_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "flights"
    host = SessionHost(
        Sessions(lambda *_: Watched(path)), ToolThreads(2, 1, _give_up), Flights(path), lambda: NOW
    )
    await _tell(host, _opening())
    completed = _reply(await _tell(host, _switching(name="look")))
    assert isinstance(completed, ToolCallCompleted)
    assert completed.content == "1"
    copy = Path(shutil.copy(path, tmp_path / "after"))
    assert Flights(copy).deaths(flight_of(_switching(name="look"))) == 0
