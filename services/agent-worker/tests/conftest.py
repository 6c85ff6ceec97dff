"""A worker on a log in memory: the fold as its processor drives it, and a world that answers what it asks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from odradek.harness import Harness
from odradek.harnesses.single_turn import SingleTurn
from odradek.harnesses.tool_calling import ToolCalling
from odradek_agent_worker.admission import Admission
from odradek_agent_worker.fold import JournalFold
from odradek_agent_worker.watch import Watch
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.codec import InvalidValue, RecordError, encode, read_envelope
from odradek_schemas.events import (
    Event,
    JournalAppended,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    RecordCoordinates,
    RolloutRequested,
    RunCancelled,
    SessionClosed,
    SessionReady,
    SessionRequested,
    ToolCallCompleted,
    ToolCallRequested,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionCall, Message, ToolCall, Usage
from odradek_schemas.rollouts import Group, Limits, Trajectory
from odradek_schemas.topics import BY_NAME

START = datetime(2026, 1, 1, tzinfo=UTC)
UNKNOWN = Failure(kind=FailureKind.UNKNOWN_HARNESS, stage=Stage.HARNESS, message="no such harness")


def task(index: int = 0, run: str = "run", harness: str = "single_turn", **changes: Any) -> RolloutRequested:
    rollout_id = f"{run}/{index}/0"
    fields: dict[str, Any] = {
        "id": rollout_id,
        "run_id": run,
        "rollout_id": rollout_id,
        "time": START,
        "group": Group(task_id=f"{run}/{index}", size=1),
        "sample": 0,
        "environment": "counter",
        "harness": harness,
        "model": "small",
        "messages": [Message(role="user", content=f"task {index}")],
        "session": harness == "tool_calling",
        "task": {"index": index},
        "seed": index,
        "limits": Limits(**changes.pop("limits", {})),
    }
    return RolloutRequested(**{**fields, **changes})


def answer(request: Any) -> Event:
    """What a willing world answers: the model calls one tool in its first turn and none after."""
    ids = {"run_id": request.run_id, "rollout_id": request.rollout_id, "time": START}
    if isinstance(request, ModelCallRequested):
        first = all(message.role != "assistant" for message in request.messages)
        calls = [ToolCall(id=f"c{n}", function=FunctionCall(name="add", arguments="{}")) for n in range(2)]
        return ModelCallCompleted(
            **ids,
            id=f"{request.id}/completed",
            call_id=request.id,
            model="small",
            message=Message(role="assistant", content="hm", tool_calls=calls if first else None),
            finish_reason="stop",
            usage=Usage(prompt_tokens=3, completion_tokens=2),
            latency_ms=1.0,
        )
    session = {**ids, "session_id": request.session_id}
    if isinstance(request, ToolCallRequested):
        return ToolCallCompleted(
            **session, id=f"{request.id}/completed", call_id=request.id, content=request.id
        )
    if isinstance(request, SessionRequested):
        return SessionReady(**session, id=f"{request.session_id}/ready", tools=[])
    return SessionClosed(**session, id=f"{request.session_id}/closed", evidence={"ok": True})


def model_failure(request: ModelCallRequested, kind: FailureKind) -> ModelCallFailed:
    return ModelCallFailed(
        id=f"{request.id}/failed",
        run_id=request.run_id,
        rollout_id=request.rollout_id,
        time=START,
        call_id=request.id,
        failure=Failure(kind=kind, stage=Stage.MODEL, message="no"),
    )


class Worker:
    """One partition's worker. Each cycle is one transaction, a second after the last; a marker follows in the log."""

    def __init__(
        self, *, most: int = 100, snapshot_after: int = 1_000_000, harnesses: dict[str, Harness] | None = None
    ) -> None:
        self.harnesses = {"single_turn": SingleTurn(), "tool_calling": ToolCalling(), **(harnesses or {})}
        self.most = most
        self.snapshot_after = snapshot_after
        self.now = START
        self.journal: list[tuple[int, Event]] = []
        self.end = 0
        self.outputs: list[Event] = []
        self.requests: list[Any] = []
        self.trajectories: list[Trajectory] = []
        self.restore_point: int | None = None
        self.first: Outputs = []
        self.fold = self._create()

    def _create(self) -> JournalFold:
        return JournalFold(
            3,
            lambda name: self.harnesses.get(name, UNKNOWN),
            Admission(self.most),
            Watch(),
            snapshot_after=self.snapshot_after,
            settle_seconds=5,
        )

    def cycle(
        self,
        *events: Event,
        rejected: tuple[tuple[str, Event], ...] = (),
        error: type[RecordError] = InvalidValue,
        seconds: float = 1.0,
        commit: bool = True,
    ) -> Outputs:
        """Feed `events`, reject the records of `rejected`, fire the timers, commit. `commit` False: die before it."""
        self.now += timedelta(seconds=seconds)
        self.fold.begin(self.end, self.now)
        outputs, self.first = self.first, []
        for event in events:
            record = None if isinstance(event, RunCancelled) else as_read("input", event)
            outputs = outputs + self.fold.accept(event, record)
        for topic, event in rejected:
            record = unreadable(topic, event)
            outputs = outputs + self.fold.reject(record, error(record.coordinates, "not JSON"))
        outputs = outputs + self.fold.fire(self.now)
        if commit:
            self._commit(outputs)
        return outputs

    def _commit(self, outputs: Outputs) -> None:
        self.restore_point = self.fold.restore_point()
        for output in outputs:
            assert isinstance(output, Output)
            event = through_the_log(output)
            if output.topic == "journal":
                self.journal.append((self.end, event))
                self.end += 1
                continue
            self.outputs.append(event)
            if output.topic == "trajectories":
                self.trajectories.append(event.trajectory)  # type: ignore[attr-defined]
            else:
                self.requests.append(event)
        self.end += 1

    def crash(self, seconds: float = 0.0) -> None:
        """Die, and let a new owner restore what was committed."""
        self.fold = self._create()
        start = self.end if self.restore_point is None else self.restore_point
        for offset, event in self.journal:
            if offset >= start:
                self.fold.restore(event, offset)
        self.now += timedelta(seconds=seconds)
        self.fold.begin(self.end, self.now)
        self.first = self.fold.restored()

    def note(self, event: Event) -> None:
        """Somebody else writes to the journal."""
        self.journal.append((self.end, event))
        self.end += 1

    def entries(self, rollout_id: str) -> list[JournalAppended]:
        return [
            event
            for _, event in self.journal
            if isinstance(event, JournalAppended) and event.rollout_id == rollout_id
        ]

    def finish(self, seconds: float = 0.0) -> None:
        """Answer everything that was asked, until nothing more is."""
        answered = 0
        self.cycle(seconds=seconds)
        while answered < len(self.requests):
            request = self.requests[answered]
            answered += 1
            self.cycle(answer(request), seconds=seconds)


def through_the_log(output: Output) -> Event:
    topic = BY_NAME[output.topic]
    encoded = encode(output.event, "agent-worker", value=output.value)
    assert encoded.value is not None
    assert output.event.type in topic.types
    event: Event = topic.adapter.validate_json(encoded.value, extra="ignore")
    return event


def as_read(topic: str, event: Event) -> Record:
    encoded = encode(event, "test")
    envelope = read_envelope(encoded.headers, RecordCoordinates(topic=topic, partition=3, offset=17))
    return Record(topic, 3, 17, encoded.key, encoded.value or b"", encoded.headers, envelope)


def unreadable(topic: str, event: Event) -> Record:
    return as_read(topic, event)._replace(value=b"{")


class Tools:
    """What the tests need besides a worker."""

    START = START
    task = staticmethod(task)
    answer = staticmethod(answer)
    model_failure = staticmethod(model_failure)
    unreadable = staticmethod(unreadable)


@pytest.fixture(scope="session")
def make_worker() -> Callable[..., Worker]:
    return Worker


@pytest.fixture(scope="session")
def tools() -> type[Tools]:
    return Tools
