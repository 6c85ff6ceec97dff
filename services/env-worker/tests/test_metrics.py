"""What an env-worker tells Prometheus of what sessions were asked for."""

import asyncio
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from odradek.sessions import Sessions
from odradek_env_worker.flights import Flights
from odradek_env_worker.host import SessionHost
from odradek_env_worker.metrics import EnvMetrics
from odradek_env_worker.threads import ToolThreads
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import (
    Event,
    ProgramFailed,
    ProgramFinished,
    SessionClosed,
    SessionFailed,
    SessionReady,
    SessionRequested,
    SessionStateChanged,
    ToolCallCompleted,
    ToolCallFailed,
)
from odradek_schemas.failures import Failure, FailureKind, Stage

IDS: dict[str, Any] = {"id": "x", "run_id": "r", "rollout_id": "r/0/0", "session_id": "r/0/0/1"}
SLOW = Failure(kind=FailureKind.TOOL_DEADLINE, stage=Stage.TOOL, message="60 s")


@pytest.mark.parametrize(
    ("event", "action", "outcome", "kind"),
    [
        (SessionReady(**IDS, tools=[]), "open", "done", ""),
        (SessionClosed(**IDS), "close", "done", ""),
        (SessionFailed(**IDS, failure=SLOW), "session", "failed", "tool_deadline"),
        (ToolCallCompleted(**IDS, call_id="c", content="3"), "tool", "done", ""),
        (ToolCallCompleted(**IDS, call_id="c", content="no such tool", is_error=True), "tool", "bad", ""),
        (ToolCallFailed(**IDS, call_id="c", failure=SLOW), "tool", "failed", "tool_deadline"),
        (ProgramFinished(**IDS, call_id="c", exit_code=0), "program", "done", ""),
        (ProgramFinished(**IDS, call_id="c", exit_code=1, failed="exit code 1"), "program", "bad", ""),
        (ProgramFailed(**IDS, call_id="c", failure=SLOW), "program", "failed", "tool_deadline"),
    ],
    ids=lambda value: value.type if isinstance(value, Event) else str(value),
)
def test_each_answer_counts_as_what_it_is(event: Event, action: str, outcome: str, kind: str) -> None:
    metrics = EnvMetrics(ToolThreads(1, 1, lambda: None))
    registry = CollectorRegistry()
    for collector in metrics.collectors():
        registry.register(collector)
    metrics.committed([Tombstone("sessions", "r/0/0/1"), Output("observations", event)])
    labels = {"action": action, "outcome": outcome, "kind": kind}
    assert registry.get_sample_value("odradek_actions_total", labels) == 1


def test_the_time_of_tools_and_the_threads_they_hold_are_told() -> None:
    threads = ToolThreads(1, 1, lambda: None)
    metrics = EnvMetrics(threads)
    registry = CollectorRegistry()
    for collector in metrics.collectors():
        registry.register(collector)
    metrics.committed(
        [Output("observations", ToolCallCompleted(**IDS, call_id="c", content="3", latency_ms=1500))]
    )
    assert registry.get_sample_value("odradek_action_seconds_sum", {"action": "tool"}) == 1.5
    threads._lost = 2
    assert registry.get_sample_value("odradek_lost_threads") == 2


def session(session_id: str) -> SessionStateChanged:
    names = IDS | {"session_id": session_id}
    request = SessionRequested(**names, environment="counter", task={}, seed=1, timeout_seconds=5)
    return SessionStateChanged(**names, request=request, state={})


def test_open_sessions_are_counted_until_their_host_is_closed() -> None:
    threads = ToolThreads(1, 1, lambda: None)
    metrics = EnvMetrics(threads)
    registry = CollectorRegistry()
    registry.register(metrics.open_sessions)
    hosts = [SessionHost(Sessions(), threads, Flights(None)) for _ in range(2)]
    for number, host in enumerate(hosts):
        metrics.watch(host)
        host.restore(f"r/0/{number}/1", session(f"r/0/{number}/1"))
    assert registry.get_sample_value("odradek_open_sessions") == 2
    asyncio.run(hosts[0].close())
    assert registry.get_sample_value("odradek_open_sessions") == 1
