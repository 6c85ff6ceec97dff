"""A run in memory, played by the workers' own folds and rules: the log that a healthy Odradek leaves behind.

Only Kafka is missing. Cycles are transactions, and a marker follows each; workers die and are restored; models and
tools fail, answers come late, timers fire, a run may be cancelled in its midst. All of it follows from a seed.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import BaseModel

from odradek import Environment, tool
from odradek.audit import LogRecord, Place
from odradek.plugins import load_harness
from odradek.session_replies import names
from odradek.sessions import Sessions
from odradek_agent_worker.admission import Admission
from odradek_agent_worker.fold import JournalFold
from odradek_agent_worker.watch import Watch
from odradek_env_worker.rejects import rejected
from odradek_runtime.blobs import FileBlobStore
from odradek_runtime.intake import Intake
from odradek_runtime.partitioning import partition_of
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas import ids
from odradek_schemas.codec import InvalidValue, RecordError, decode, encode, read_envelope
from odradek_schemas.events import (
    Asked,
    Dataset,
    Event,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    ProgramFinished,
    ProgramRequested,
    RecordCoordinates,
    RolloutRequested,
    RunCancelled,
    RunCounts,
    RunFinished,
    RunRequested,
    RunStatus,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import FunctionCall, Message, ToolCall, Usage
from odradek_schemas.rollouts import Group, Limits, Reward, Trajectory
from odradek_schemas.topics import BY_NAME, MODEL_ACCESS
from odradek_scoring.assigning import announce, unplayed
from odradek_scoring.exchange import Verdict
from odradek_task_producer.count import Counters
from odradek_task_producer.rows import PreparedTask, rollout_of

START = datetime(2026, 1, 1, tzinfo=UTC)
RUN = "run"


class Counter(Environment):
    """A world whose tools work, refuse and break."""

    name = "counter"

    class Task(BaseModel):
        start: int

    class State(BaseModel):
        value: int

    def reset(self, task: Task, seed: int) -> State:
        return self.State(value=task.start)

    def observe(self, state: State) -> list[Message]:
        return [Message(role="user", content=f"The counter is at {state.value}.")]

    @tool
    def add(self, state: State, amount: int) -> str:
        """Add to the counter."""
        state.value += amount
        return str(state.value)

    @tool
    def break_down(self, state: State) -> str:
        """Fail as a broken world does."""
        raise RuntimeError("the counter is broken")

    def verify(self, trajectory: Trajectory, answer: None) -> Reward:
        return Reward(reward=len(trajectory.messages) / 7)


class Raw(NamedTuple):
    """A record as it lies in the log."""

    time: datetime
    place: Place
    key: bytes
    headers: tuple[tuple[str, bytes], ...]
    value: bytes


@dataclass(frozen=True)
class Troubles:
    """How often, in one of so many, things go wrong; 0: never."""

    model_fails: int = 0
    tool_breaks: int = 0
    answer_is_late: int = 0
    worker_dies: int = 0
    poison: int = 0
    cancelled_after: int | None = None


@dataclass
class PlayedRun:
    """The run, and its records by partition in the order in which they were written."""

    requested: RunRequested
    partitions: list[list[Raw]]
    finished: RunFinished

    @property
    def finished_at(self) -> Place:
        return Place("runs", 0, 1)

    def records(self, partition: int) -> Iterator[LogRecord]:
        return (opened(raw) for raw in self.partitions[partition])


def opened(raw: Raw) -> LogRecord:
    """The record as the audit takes it."""
    return LogRecord.of(raw.place, dict(raw.headers), raw.value)


def play_run(
    seed: int = 0,
    tasks: int = 4,
    samples: int = 2,
    partitions: int = 2,
    *,
    turns: int = 3,
    concurrency: int = 16,
    troubles: Troubles = Troubles(),
    markers: bool = True,
    programs: bool = False,
) -> PlayedRun:
    """Play a run of `tasks` times `samples` rollouts.

    `turns`: most replies with tool calls. `markers`: whether transactions leave their markers in the log. `programs`:
    whether a program plays each fourth task.
    """
    requested = RunRequested(
        id=RUN,
        run_id=RUN,
        time=START,
        environment="counter",
        dataset=Dataset(uri="file:///counter.jsonl", name="counter.jsonl"),
        model="scripted",
        samples=samples,
        concurrency=concurrency,
        limits=Limits(model_seconds=30, tool_seconds=30, session_seconds=30),
    )
    rollouts = [
        _rollout(requested, index, sample, programs) for index in range(tasks) for sample in range(samples)
    ]
    worlds = [
        _World(number, requested, Random(f"{seed}/{number}"), turns, troubles, markers)
        for number in range(partitions)
    ]
    for rollout in rollouts:
        worlds[partition_of(rollout.rollout_id, partitions)].wait(rollout)
    for world in worlds:
        asyncio.run(world.play())
    return PlayedRun(
        requested, [world.records for world in worlds], _finished(requested, len(rollouts), worlds)
    )


class _World:
    """One partition number: its log, its agent-worker, and those who answer."""

    def __init__(
        self,
        number: int,
        requested: RunRequested,
        random: Random,
        turns: int,
        troubles: Troubles,
        markers: bool,
    ) -> None:
        self.records: list[Raw] = []
        self.counters = Counters(RunCounts())
        self.admitted = 0
        self.cancelled = False
        self._number = number
        self._requested = requested
        self._random = random
        self._turns = turns
        self._troubles = troubles
        self._markers = markers
        self._now = START
        self._ends: dict[str, int] = defaultdict(int)
        self._tasks: deque[RolloutRequested] = deque()
        self._inbox: deque[Record] = deque()
        self._asked: deque[Any] = deque()
        self._late: list[Any] = []
        self._unverified: deque[Record] = deque()
        self._environment = Counter()
        self._sessions = Sessions(lambda *_: self._environment)
        self._in_flight = 0
        self._fold = self._create()

    def wait(self, rollout: RolloutRequested) -> None:
        self._tasks.append(rollout)

    async def play(self) -> None:
        while not self._over():
            self._pass(self._random.randint(1, 20))
            self._admit()
            await self._answer()
            self._cycle()
            self._verify()
            if self._happens(self._troubles.worker_dies):
                self._restore()
        self._fold.close()

    def _over(self) -> bool:
        busy = self._inbox or self._asked or self._late or self._unverified or self._in_flight
        return not busy and (self.cancelled or not self._tasks)

    def _pass(self, milliseconds: int) -> None:
        """Time goes by; where nothing else will happen, until a timer is due."""
        self._now += timedelta(milliseconds=milliseconds)
        due = self._fold.next_timer()
        if not (self._inbox or self._asked or self._unverified) and self._in_flight and due:
            self._now = max(self._now, due)

    def _happens(self, one_in: int) -> bool:
        return bool(one_in) and self._random.randrange(one_in) == 0

    # The log

    def _commit(self, outputs: Outputs, source: str) -> list[Record]:
        """One transaction; a marker ends it on each topic that it wrote to. Who may ask is no audit's affair."""
        written = [
            self._append(output, source)
            for output in outputs
            if isinstance(output, Output) and output.topic != MODEL_ACCESS.name
        ]
        for topic in {record.topic for record in written}:
            self._ends[topic] += self._markers
        return written

    def _append(self, output: Output, source: str) -> Record:
        encoded = encode(output.event, source, value=output.value)
        assert encoded.value is not None
        place = Place(output.topic, self._number, self._ends[output.topic])
        self._ends[output.topic] += 1
        raw = Raw(self._now, place, encoded.key, encoded.headers, encoded.value)
        self.records.append(raw)
        return _record(raw)

    # The task-producer

    def _admit(self) -> None:
        after = self._troubles.cancelled_after
        if after is not None and self.admitted >= after and not self.cancelled:
            self.cancelled = True
            event = RunCancelled(id=RUN, run_id=RUN, time=self._now, reason="asked to")
            self._run_cycle([], event)
        while not self.cancelled and self._tasks and self._in_flight < self._requested.concurrency:
            rollout = self._tasks.popleft().model_copy(update={"time": self._now})
            self._in_flight += 1
            self.admitted += 1
            self._inbox += self._commit([Output("tasks", rollout)], "task-producer")

    # The agent-worker

    def _create(self) -> JournalFold:
        fold = JournalFold(
            self._number,
            load_harness,
            Admission(1_000_000),
            Watch(),
            snapshot_after=60,
            settle_seconds=5,
        )
        self._point: int | None = None
        return fold

    def _restore(self) -> None:
        """The worker dies before its next commit, and another one takes over."""
        point, fold = self._point, self._create()
        for raw in self.records if point is not None else ():
            if raw.place.topic == "journal" and raw.place.offset >= point:  # type: ignore[operator]
                fold.restore(_event(_record(raw)), raw.place.offset)
        fold.begin(self._ends["journal"], self._now)
        first = fold.restored()
        self._fold.close()
        self._fold = fold
        self._sort_out(self._commit(first, "agent-worker"))
        self._point = fold.restore_point()

    def _cycle(self) -> None:
        taken = [self._inbox.popleft() for _ in range(self._random.randint(0, len(self._inbox)))]
        self._run_cycle(taken)

    def _run_cycle(self, taken: Sequence[Record], *posted: Event) -> None:
        self._fold.begin(self._ends["journal"], self._now)
        outputs: Outputs = []
        for record in taken:
            try:
                event = _event(record)
            except RecordError as error:
                outputs.append(_letters("agent-worker").dead_letter(record, error))
                outputs += self._fold.reject(record, error)
            else:
                outputs += self._fold.accept(event, record)
        for event in posted:
            outputs += self._fold.accept(event, None)
        outputs += self._fold.fire(self._now)
        self._sort_out(self._commit(outputs, "agent-worker"))
        self._point = self._fold.restore_point()

    def _sort_out(self, written: Sequence[Record]) -> None:
        for record in written:
            if record.topic == "trajectories":
                self._unverified.append(record)
            elif record.topic in ("model-calls", "tool-actions"):
                self._asked.append(_event(record))

    # The model-gateway and the env-worker

    async def _answer(self) -> None:
        """Answer some of what was asked, in order; late answers come when their rollout has given up."""
        for _ in range(self._random.randint(0, len(self._asked))):
            request = self._asked.popleft()
            if self._happens(self._troubles.answer_is_late):
                self._late.append((self._now + timedelta(seconds=self._random.choice((5, 60))), request))
            else:
                await self._reply(request)
        for when, request in [late for late in self._late if late[0] <= self._now]:
            self._late.remove((when, request))
            await self._reply(request)
        if not self._asked and not self._inbox and self._late and not self._in_flight:
            self._now = max(self._now, self._late[0][0])

    async def _reply(self, request: Any) -> None:
        reply: Event
        if isinstance(request, ModelCallRequested):
            topic, reply, source = "model-results", self._complete(request), "model-gateway"
        elif isinstance(request, ProgramRequested):
            for call in self._calls_of(request):
                self._inbox += self._commit([Output("model-results", call)], "model-gateway")
            topic, reply, source = "model-results", self._ended(request), "env-worker"
        else:
            if self._happens(self._troubles.poison):
                self._poison_action(request)
            outcome = await self._sessions.answer(request)
            topic, source = "observations", "env-worker"
            reply = outcome.reply.model_copy(update={"time": self._now})
        if self._happens(self._troubles.poison):
            self._inbox += self._commit([Output(topic, reply, value=self._spoiled(reply))], source)
        self._inbox += self._commit([Output(topic, reply)], source)

    def _calls_of(self, program: ProgramRequested) -> Iterator[ModelCallCompleted | ModelCallFailed]:
        """What a program asks by itself: each prompt is the one before, the reply to it, and a question more."""
        said = [Message(role="system", content="A program."), Message(role="user", content=program.prompt)]
        for number in range(self._random.randint(1, self._turns)):
            asking = ModelCallRequested(
                id=f"{program.id}/http-{number}",
                run_id=program.run_id,
                rollout_id=program.rollout_id,
                model=program.model,
                messages=said,
                deadline=self._now,
            )
            call = self._complete(asking)
            if isinstance(call, ModelCallFailed):
                yield call
                continue
            asked = Asked(dialect="chat", messages=said, digest=str(number))
            yield call.model_copy(update={"asked": asked})
            said = [*said, call.message, Message(role="user", content=f"And {number}?")]

    def _ended(self, program: ProgramRequested) -> ProgramFinished:
        failed = None if self._random.random() < 0.8 else "exit code 1"
        return ProgramFinished(
            **names(program, "finished") | {"time": self._now},
            call_id=program.id,
            exit_code=0 if failed is None else 1,
            result="done",
            failed=failed,
            latency_ms=self._random.random() * 100,
        )

    def _spoiled(self, event: Event) -> bytes:
        """No JSON; or, worse, JSON in which only one field is wrong."""
        if self._random.random() < 0.5:
            return b"{"
        return (
            event.model_copy(update={"time": "never"})
            .model_dump_json(exclude_none=True, warnings=False)
            .encode()
        )

    def _poison_action(self, request: Any) -> None:
        """Garbage in the name of a request: the env-worker answers it with a failure, as it can't be read."""
        spoiled = Output("tool-actions", request, value=self._spoiled(request))
        (record,) = self._commit([spoiled], "agent-worker")
        error = InvalidValue(record.coordinates, "spoiled")
        failure = rejected(record, error)
        assert failure is not None
        failure = failure.model_copy(update={"time": self._now})
        letter = _letters("env-worker").dead_letter(record, error)
        _, answer = self._commit([letter, Output("observations", failure)], "env-worker")
        self._inbox.append(answer)

    def _complete(self, request: ModelCallRequested) -> ModelCallCompleted | ModelCallFailed:
        about: dict[str, Any] = {
            "run_id": request.run_id,
            "rollout_id": request.rollout_id,
            "time": self._now,
            "call_id": request.id,
        }
        if self._happens(self._troubles.model_fails):
            kind = self._random.choice((FailureKind.UPSTREAM_UNAVAILABLE, FailureKind.CONTEXT_OVERFLOW))
            failure = Failure(kind=kind, stage=Stage.MODEL, message="no")
            return ModelCallFailed(**about, id=f"{request.id}/failed", failure=failure, tries=2)
        message = self._message(request)
        return ModelCallCompleted(
            **about,
            id=f"{request.id}/completed",
            model="scripted-1",
            message=message,
            finish_reason="tool_calls" if message.tool_calls else "stop",
            usage=Usage(prompt_tokens=self._random.randint(10, 99), completion_tokens=7),
            latency_ms=self._random.random() * 100,
        )

    def _message(self, request: ModelCallRequested) -> Message:
        said = sum(message.role == "assistant" for message in request.messages)
        if said >= self._turns or self._random.random() < 0.1:
            return Message(
                role="assistant", content=f"Done: {self._random.random()}", reasoning_content="Hm."
            )
        return Message(
            role="assistant", tool_calls=[self._call(n) for n in range(self._random.randint(1, 2))]
        )

    def _call(self, number: int) -> ToolCall:
        breaks = self._happens(self._troubles.tool_breaks)
        name = "break_down" if breaks else self._random.choice(("add", "add", "add", "unknown"))
        arguments = "{}" if breaks else f'{{"amount": {self._random.randint(1, 9)}}}'
        return ToolCall(id=f"call_{number}", function=FunctionCall(name=name, arguments=arguments))

    # The verifier-worker

    def _verify(self) -> None:
        for _ in range(self._random.randint(0, len(self._unverified))):
            record = self._unverified.popleft()
            event = _event(record)
            verdict = unplayed(event.trajectory) or Verdict(
                reward=self._environment.verify(event.trajectory, None)
            )
            reward = announce(event, verdict, record.coordinates).model_copy(update={"time": self._now})
            self._commit([Output("rewards", reward)], "verifier-worker")
            self.counters.add(reward)
            self._in_flight -= 1


def _rollout(requested: RunRequested, index: int, sample: int, programs: bool) -> RolloutRequested:
    plays = programs and index % 4 == 1
    task = PreparedTask(
        index=index,
        group=Group(task_id=ids.task_id(RUN, index), size=requested.samples),
        harness="program:agent" if plays else "tool_calling",
        session=index % 4 != 3,
        messages=[Message(role="system", content="Count."), Message(role="user", content=f"Task {index}.")],
        tools=[],
        task={"start": index},
        sealed_answer=f"sealed {index}",
        sampling=requested.sampling,
    )
    if not task.session:
        task = PreparedTask(**{f: getattr(task, f) for f in task.__slots__} | {"harness": "single_turn"})
    return rollout_of(task, requested, sample, START)


def _finished(requested: RunRequested, planned: int, worlds: Sequence[_World]) -> RunFinished:
    cancelled = any(world.cancelled for world in worlds)
    admitted = sum(world.admitted for world in worlds)
    return RunFinished(
        id=RUN,
        run_id=RUN,
        time=max(world.records[-1].time for world in worlds if world.records),
        status=RunStatus.CANCELLED if cancelled else RunStatus.FINISHED,
        planned=planned,
        admitted=admitted,
        counts=sum((world.counters.total() for world in worlds), RunCounts()),
        started_at=START,
    )


def _letters(worker: str) -> Intake:
    return Intake(worker, FileBlobStore(Path("/nowhere")))


def _record(raw: Raw) -> Record:
    envelope = read_envelope(raw.headers, RecordCoordinates(topic="", partition=0, offset=0))
    return Record(*raw.place, raw.key, raw.value, raw.headers, envelope)


def _event(record: Record) -> Any:
    return decode(BY_NAME[record.topic], record.envelope, record.value, record.coordinates)
