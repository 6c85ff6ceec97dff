"""What the fuzz runs: folds and handlers whose committed outputs tell whether each input was taken in exactly once."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from virtual_time import PROCESS, Process

from odradek_runtime.folds import FoldContext, StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor, HandlerContext
from odradek_runtime.records import Output, Outputs, Record, Tombstone
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event, PolicyUpdated
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.topics import BY_NAME, Kept, Topic

A, B, OUT, JOURNAL, TABLE, LETTERS, CONTROL = (
    "fuzz-a", "fuzz-b", "fuzz-out", "fuzz-journal", "fuzz-table", "dead-letters", "control",
)  # fmt: skip
INPUTS = (A, B)
PAUSE_JOBS = 3
"""With so many jobs under way a fold wants no more of topic B."""


class Put(RolloutEvent):
    """An input. `kind` says what it asks for; `total` is how many inputs its rollout has."""

    type: Literal["FuzzPut"] = "FuzzPut"
    kind: Literal["plain", "timer", "job", "cross", "slow", "raises"] = "plain"
    total: int = 1


class Job(RolloutEvent):
    """A job's result, posted by a fold to itself."""

    type: Literal["FuzzJob"] = "FuzzJob"


class Answered(RolloutEvent):
    """The output for `of`: the how many-th of its rollout it was, and all that the rollout had accepted."""

    type: Literal["FuzzAnswered"] = "FuzzAnswered"
    of: str
    number: int = 0
    seen: list[str] = []


class Took(RolloutEvent):
    """A journal entry. `number` counts a rollout's entries from 1."""

    type: Literal["FuzzTook"] = "FuzzTook"
    of: str
    what: Literal["put", "timer", "job"]
    number: int
    total: int
    kind: str
    due: datetime | None = None


class State(RolloutEvent):
    """A rollout's whole state, for a compacted changelog."""

    type: Literal["FuzzState"] = "FuzzState"
    seen: list[str]
    entries: int
    total: int
    timers: dict[str, datetime] = {}
    jobs: list[str] = []


TOPICS = (
    Topic(A, (Put,), "rollout id", Kept.DAYS, (), (), ""),
    Topic(B, (Put,), "rollout id", Kept.DAYS, (), (), ""),
    Topic(OUT, (Answered,), "rollout id", Kept.DAYS, (), (), ""),
    Topic(JOURNAL, (Took,), "rollout id", Kept.DAYS, (), (), ""),
    Topic(TABLE, (State,), "rollout id", Kept.COMPACTED, (), (), ""),
)


@dataclass
class Recorder:
    """What folds and handlers did, in all processes."""

    now: Callable[[], float]
    committed_at: Callable[[str], float | None]
    owners: list[Any] = field(default_factory=list)
    begun: Counter[str] = field(default_factory=Counter)
    raised: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)

    def created(self, owner: Any) -> None:
        self.owners.append(owner)

    def begin(self, owner: Any, name: str) -> None:
        """An owner begins to work on an input; it may not be one that was committed before the owner existed."""
        if owner.process is None or not owner.process.alive:
            return
        if name in owner.begun:
            self.violations.append(f"{name} was handed out twice by one owner")
        owner.begun.add(name)
        self.begun[name] += 1
        committed = self.committed_at(name)
        if committed is not None and committed < owner.since:
            self.violations.append(
                f"{name}, committed at {committed:.3f}, was handed out again by an owner of {owner.since:.3f}"
            )

    def raise_once(self, name: str) -> None:
        if name not in self.raised:
            self.raised.add(name)
            raise RuntimeError(f"bug in the handling of {name}")


class Observed:
    """What folds and handlers have in common: they are known to the recorder."""

    def __init__(self, recorder: Recorder, partition: int) -> None:
        self.recorder = recorder
        self.partition = partition
        self.process: Process | None = PROCESS.get()
        self.since = recorder.now()
        self.begun: set[str] = set()
        self.closed = False
        self.controls: dict[str, str] = {}
        recorder.created(self)

    def take_control(self, event: Event) -> None:
        assert isinstance(event, PolicyUpdated)
        self.controls[event.model] = event.version


@dataclass
class Story:
    """What a fold knows of a rollout."""

    began: int
    total: int
    seen: list[str] = field(default_factory=list)
    entries: int = 0
    timers: dict[str, datetime] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)

    @property
    def done(self) -> bool:
        return len(self.seen) == self.total and not self.timers and not self.jobs


class StoryFold(Observed):
    """Numbers the inputs of each rollout; timers and jobs answer a second time. Forgets a rollout that is complete."""

    def __init__(self, recorder: Recorder, context: FoldContext, anchored: bool) -> None:
        super().__init__(recorder, context.partition)
        self._context = context
        self._anchored = anchored
        self._position = 0
        self._now = datetime.min
        self.stories: dict[str, Story] = {}
        self._jobs: dict[str, asyncio.TimerHandle] = {}

    def restore(self, event: Event, offset: int) -> None:
        if isinstance(event, State):
            self.stories[event.rollout_id] = Story(
                0, event.total, list(event.seen), event.entries, dict(event.timers), set(event.jobs)
            )
        elif isinstance(event, Took):
            if event.number == 1:
                self.stories[event.rollout_id] = Story(offset, event.total)
            story = self.stories.get(event.rollout_id)
            if story is not None:  # else its beginning lies before the restore point: it is complete
                self._apply(story, event)
        if self.stories[event.rollout_id].done if event.rollout_id in self.stories else False:
            del self.stories[event.rollout_id or ""]

    def restored(self) -> Outputs:
        for rollout, story in self.stories.items():
            for job in sorted(story.jobs):
                self._start(rollout, job)
        return []

    def begin(self, position: int, now: datetime) -> None:
        self._position, self._now = position, now

    def accept(self, event: Event, record: Record | None) -> Outputs:
        if isinstance(event, Job):
            story = self.stories.get(event.rollout_id)
            known = story is not None and event.id in story.jobs
            return self._take(event.rollout_id, event.id, "job", "plain", 0) if known else []
        if not isinstance(event, Put):
            self.take_control(event)
            return []
        self.recorder.begin(self, event.id)
        if event.kind == "raises":
            self.recorder.raise_once(event.id)
        return self._take(event.rollout_id, event.id, "put", event.kind, event.total)

    def reject(self, record: Record, error: RecordError) -> Outputs:
        return [refused(record)]

    def fire(self, now: datetime) -> Outputs:
        due = [(r, t) for r, story in self.stories.items() for t, at in story.timers.items() if at <= now]
        return [
            output for rollout, timer in due for output in self._take(rollout, timer, "timer", "plain", 0)
        ]

    def next_timer(self) -> datetime | None:
        return min((at for story in self.stories.values() for at in story.timers.values()), default=None)

    def wants(self, topic: str) -> bool:
        return topic != B or len(self._jobs) < PAUSE_JOBS

    def restore_point(self) -> int | None:
        return min((story.began for story in self.stories.values()), default=None)

    def close(self) -> None:
        self.closed = True
        for handle in self._jobs.values():
            handle.cancel()

    def _take(self, rollout: str, name: str, what: Any, kind: str, total: int) -> Outputs:
        story = self.stories.setdefault(rollout, Story(self._position, total))
        due = self._now + timedelta(seconds=0.7) if kind == "timer" else None
        took = Took(
            id=f"{what}/{name}", run_id="run", rollout_id=rollout, of=name, what=what, number=story.entries + 1,
            total=total, kind=kind, due=due,
        )  # fmt: skip
        self._apply(story, took)
        if kind == "job":
            self._start(rollout, name)
        elif what == "job":
            self._jobs.pop(name).cancel()
        answer = Answered(
            id=f"{what}/{name}",
            run_id="run",
            rollout_id=rollout,
            of=name,
            number=story.entries,
            seen=story.seen,
        )
        if story.done:
            del self.stories[rollout]
        elsewhere = (self.partition + 1) % self._context.partitions if kind == "cross" else None
        entry = Output(JOURNAL, took) if self._anchored else Output(TABLE, _state(rollout, story))
        return [entry, Output(OUT, answer, elsewhere)]

    def _apply(self, story: Story, took: Took) -> None:
        story.entries += 1
        assert took.number == story.entries, (
            f"entry {took.number} of {took.rollout_id} follows {story.entries - 1}"
        )
        if took.what == "put":
            story.seen.append(took.of)
            if took.due is not None:
                story.timers[took.of] = took.due
            if took.kind == "job":
                story.jobs.add(took.of)
        elif took.what == "timer":
            del story.timers[took.of]
        else:
            story.jobs.remove(took.of)

    def _start(self, rollout: str, name: str) -> None:
        event = Job(id=name, run_id="run", rollout_id=rollout)
        self._jobs[name] = asyncio.get_running_loop().call_later(0.4, self._context.post, event)


def _state(rollout: str, story: Story) -> State:
    return State(
        id=f"{rollout}/state", run_id="run", rollout_id=rollout, seen=story.seen, entries=story.entries,
        total=story.total, timers=story.timers, jobs=sorted(story.jobs),
    )  # fmt: skip


def refused(record: Record) -> Output:
    answer = Answered(
        id=f"refused/{record.envelope.id}", run_id="run", rollout_id=record.envelope.rollout_id or "",
        of=record.envelope.id,
    )  # fmt: skip
    return Output(OUT, answer)


class AnswerHandler(Observed):
    """Answers each input after a while; with a changelog it numbers the inputs of each rollout."""

    def __init__(self, recorder: Recorder, context: HandlerContext, keeps: bool) -> None:
        super().__init__(recorder, context.partition)
        self._keeps = keeps
        self.states: dict[str, list[str]] = {}

    def restore(self, key: str, event: Event | None) -> None:
        if event is None:
            self.states.pop(key, None)
        else:
            assert isinstance(event, State)
            self.states[key] = list(event.seen)

    async def handle(self, event: Event, record: Record) -> Outputs:
        assert isinstance(event, Put)
        self.recorder.begin(self, event.id)
        await asyncio.sleep({"slow": 5.0, "timer": 0.5, "job": 0.05}.get(event.kind, 0.0))
        if event.kind == "raises":
            self.recorder.raise_once(event.id)
        seen: list[str] = []
        outputs: Outputs = []
        if self._keeps:
            seen = self.states[event.rollout_id] = [*self.states.get(event.rollout_id, ()), event.id]
            outputs.append(self._entry(event, seen))
        answer = Answered(
            id=f"put/{event.id}",
            run_id="run",
            rollout_id=event.rollout_id,
            of=event.id,
            number=len(seen),
            seen=seen,
        )
        return [*outputs, Output(OUT, answer)]

    def _entry(self, event: Put, seen: list[str]) -> Output | Tombstone:
        if len(seen) == event.total:
            del self.states[event.rollout_id]
            return Tombstone(TABLE, event.rollout_id)
        return Output(TABLE, State(
            id=event.id, run_id="run", rollout_id=event.rollout_id, seen=seen, entries=len(seen), total=event.total
        ))  # fmt: skip

    def reject(self, record: Record, error: RecordError) -> Outputs:
        return [refused(record)]

    def control(self, event: Event) -> None:
        self.take_control(event)

    async def close(self) -> None:
        self.closed = True


def create(kind: str, recorder: Recorder) -> StatefulProcessor | ConcurrentProcessor:
    """`journal` and `table`: stateful, by their changelog; `loose` and `ordered`: concurrent, the latter keeps state."""
    if kind in ("journal", "table"):
        anchored = kind == "journal"
        return StatefulProcessor(
            "fuzz", INPUTS, JOURNAL if anchored else TABLE, lambda c: StoryFold(recorder, c, anchored),
            anchor=A if anchored else None, max_cycle_records=5,
        )  # fmt: skip
    keeps = kind == "ordered"
    return ConcurrentProcessor(
        "fuzz", INPUTS, lambda c: AnswerHandler(recorder, c, keeps), changelog=TABLE if keeps else None,
        ordered=keeps, max_in_flight=6,
    )  # fmt: skip


def declare_topics() -> None:
    BY_NAME.update({topic.name: topic for topic in TOPICS})


def withdraw_topics() -> None:
    for topic in TOPICS:
        BY_NAME.pop(topic.name)
