"""A table at which one rollout is played by hand: the test answers what the machine asks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from odradek.engine import Decision, RolloutMachine
from odradek.harness import Harness
from odradek_schemas.events import (
    JournalAppended,
    JournalInput,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    RolloutRequested,
    SessionClosed,
    SessionCloseRequested,
    SessionFailed,
    SessionReady,
    SessionRequested,
    TimerFired,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, ToolCall, ToolSpec, Usage
from odradek_schemas.rollouts import Group, Limits, Trajectory

START = datetime(2026, 1, 1, tzinfo=UTC)
ROLLOUT = "run/7/0"


def tool_calls(*names: str) -> list[ToolCall]:
    return [
        ToolCall(id=f"c{index}", function=FunctionCall(name=name, arguments="{}"))
        for index, name in enumerate(names)
    ]


def request(harness: str = "tool_calling", session: bool = True, **changes: Any) -> RolloutRequested:
    limits = Limits(**changes.pop("limits", {}))
    fields: dict[str, Any] = {
        "id": ROLLOUT,
        "run_id": "run",
        "rollout_id": ROLLOUT,
        "time": START,
        "group": Group(task_id="run/7", size=2),
        "sample": 0,
        "environment": "counter",
        "harness": harness,
        "model": "small",
        "messages": [Message(role="system", content="Count."), Message(role="user", content="Go.")],
        "session": session,
        "task": {"start": 3},
        "sealed_answer": "sealed",
        "seed": 5,
        "limits": limits,
    }
    return RolloutRequested(**{**fields, **changes})


class Table:
    """Plays one rollout; every input comes a second after the one before."""

    def __init__(self, harness: Harness | Failure, **changes: Any) -> None:
        self.request = request(**changes)
        self.machine = RolloutMachine(self.request, harness)
        self.now = START
        self.requests: list[Any] = []
        self.entries: list[JournalAppended] = []
        self.finished: list[Trajectory] = []

    def accept(self, event: JournalInput, seconds: float = 1.0) -> Decision | None:
        self.now += timedelta(seconds=seconds)
        decision = self.machine.accept(event, self.now)
        if decision is not None:
            self._note(event, decision)
        return decision

    def _note(self, event: JournalInput, decision: Decision) -> None:
        self.requests.extend(decision.requests)
        if decision.finished is not None:
            self.finished.append(decision.finished.trajectory)
        self.entries.append(
            JournalAppended(
                id=f"{ROLLOUT}/journal/{len(self.entries)}",
                run_id="run",
                rollout_id=ROLLOUT,
                time=self.now,
                sequence=len(self.entries),
                input=event,
                requests=decision.prints,
            )
        )

    def start(self) -> Decision | None:
        return self.accept(self.request)

    @property
    def trajectory(self) -> Trajectory:
        (trajectory,) = self.finished
        return trajectory

    def last(self, kind: type[Any]) -> Any:
        return [made for made in self.requests if isinstance(made, kind)][-1]

    def _ids(self, subject: str, outcome: str) -> dict[str, Any]:
        return {
            "id": f"{subject}/{outcome}",
            "run_id": "run",
            "rollout_id": ROLLOUT,
            "time": self.now,
        }

    def reply(
        self, text: str | None = "fine", calls: list[ToolCall] | None = None, tokens: int = 10, **changes: Any
    ) -> Decision | None:
        call_id = changes.pop("call_id", None) or self.last(ModelCallRequested).id
        fields = {
            "model": "small",
            "message": Message(role="assistant", content=text, tool_calls=calls),
            "finish_reason": "stop",
            "usage": Usage(prompt_tokens=tokens - 1, completion_tokens=1),
            "latency_ms": 2.0,
            "tokens": changes.pop("record", None),
        }
        return self.accept(
            ModelCallCompleted(**self._ids(call_id, "completed"), call_id=call_id, **{**fields, **changes})
        )

    def fail_model(self, kind: FailureKind) -> Decision | None:
        call_id = self.last(ModelCallRequested).id
        failure = Failure(kind=kind, stage=Stage.MODEL, message="no")
        return self.accept(ModelCallFailed(**self._ids(call_id, "failed"), call_id=call_id, failure=failure))

    def ready(self, session_id: str | None = None, **changes: Any) -> Decision | None:
        session_id = session_id or self.last(SessionRequested).session_id
        fields = {"tools": [ToolSpec(function=FunctionSpec(name="add"))], **changes}
        return self.accept(SessionReady(**self._ids(session_id, "ready"), session_id=session_id, **fields))

    def closed(self, session_id: str | None = None, **changes: Any) -> Decision | None:
        session_id = session_id or self.last(SessionCloseRequested).session_id
        return self.accept(SessionClosed(**self._ids(session_id, "closed"), session_id=session_id, **changes))

    def fail_session(self, kind: FailureKind) -> Decision | None:
        session_id = self.last(SessionRequested).session_id
        failure = Failure(kind=kind, stage=Stage.SESSION, message="no world")
        return self.accept(
            SessionFailed(**self._ids(session_id, "failed"), session_id=session_id, failure=failure)
        )

    def observe(self, action: ToolCallRequested, content: str = "ok", **changes: Any) -> Decision | None:
        return self.accept(
            ToolCallCompleted(
                **self._ids(action.id, "completed"),
                session_id=action.session_id,
                call_id=action.id,
                content=content,
                **changes,
            )
        )

    def fail_tool(self, action: ToolCallRequested, kind: FailureKind) -> Decision | None:
        failure = Failure(kind=kind, stage=Stage.TOOL, message="no tool")
        return self.accept(
            ToolCallFailed(
                **self._ids(action.id, "failed"),
                session_id=action.session_id,
                call_id=action.id,
                failure=failure,
            )
        )

    def fire(self, timer: str) -> Decision | None:
        return self.accept(
            TimerFired(id=f"{timer}/fired", run_id="run", rollout_id=ROLLOUT, time=self.now, timer=timer)
        )

    def actions(self) -> list[ToolCallRequested]:
        return [made for made in self.requests if isinstance(made, ToolCallRequested)]


@pytest.fixture(scope="session")
def table() -> Callable[..., Table]:
    return Table


@pytest.fixture(scope="session")
def calls() -> Callable[..., list[ToolCall]]:
    return tool_calls
