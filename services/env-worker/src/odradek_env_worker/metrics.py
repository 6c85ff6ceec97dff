"""What an env-worker measures: what was asked of sessions, what came of it, sessions that are open, and threads that it lost."""

from collections.abc import Sequence
from typing import Protocol
from weakref import WeakSet

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.registry import Collector

from odradek_env_worker.threads import ToolThreads
from odradek_runtime.measures import Tellers
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import (
    ProgramFailed,
    ProgramFinished,
    SessionClosed,
    SessionFailed,
    SessionReady,
    ToolCallCompleted,
    ToolCallFailed,
)
from odradek_schemas.failures import Failure

DONE, BAD, FAILED = "done", "bad", "failed"
"""Outcomes: carried out; carried out, and what came of it is an error of the model's or the program's; not carried out."""


class Host(Protocol):
    """Where sessions are."""

    @property
    def open_sessions(self) -> int:
        """How many are open; none once it is closed."""


class EnvMetrics:
    """Implements `odradek_runtime.measures.Measures`."""

    def __init__(self, threads: ToolThreads) -> None:
        self.actions = Counter(
            "odradek_actions",
            "What sessions were asked for (open, tool, program, close), by outcome and kind of failure.",
            ("action", "outcome", "kind"),
            registry=None,
        )
        self.seconds = Histogram(
            "odradek_action_seconds",
            "How long tools and programs took.",
            ("action",),
            registry=None,
            buckets=(0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800),
        )
        self.lost_threads = Gauge(
            "odradek_lost_threads", "Threads at a tool that nobody waits for any more.", registry=None
        )
        self.lost_threads.set_function(lambda: threads.lost)
        self._hosts: WeakSet[Host] = WeakSet()
        self.open_sessions = Gauge(
            "odradek_open_sessions", "Sessions that are open in the partitions of this worker.", registry=None
        )
        self.open_sessions.set_function(lambda: sum(host.open_sessions for host in self._hosts))
        self._tellers = Tellers(
            {
                SessionReady: lambda event: self._count("open", DONE),
                SessionClosed: lambda event: self._count("close", DONE),
                SessionFailed: lambda event: self._failed("session", event.failure),
                ToolCallCompleted: self._tool,
                ToolCallFailed: lambda event: self._failed("tool", event.failure),
                ProgramFinished: self._program,
                ProgramFailed: lambda event: self._failed("program", event.failure),
            }
        )

    def watch(self, host: Host) -> None:
        """Count the open sessions of `host` too."""
        self._hosts.add(host)

    def collectors(self) -> Sequence[Collector]:
        return [self.actions, self.seconds, self.lost_threads, self.open_sessions]

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        self._tellers.committed(outputs)

    def _tool(self, event: ToolCallCompleted) -> None:
        self._count("tool", BAD if event.is_error else DONE)
        self.seconds.labels("tool").observe(event.latency_ms / 1000)

    def _program(self, event: ProgramFinished) -> None:
        self._count("program", BAD if event.failed is not None else DONE)
        self.seconds.labels("program").observe(event.latency_ms / 1000)

    def _failed(self, action: str, failure: Failure) -> None:
        self._count(action, FAILED, failure.kind.value)

    def _count(self, action: str, outcome: str, kind: str = "") -> None:
        self.actions.labels(action, outcome, kind).inc()
