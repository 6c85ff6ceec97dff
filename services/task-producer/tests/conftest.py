"""A world in memory: topics, a ledger and the folds of every partition, committed as the processor commits."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from odradek_runtime.folds import FoldContext, Post
from odradek_runtime.partitioning import partition_of
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.codec import decode, encode, read_envelope
from odradek_schemas.events import (
    Dataset,
    Event,
    RecordCoordinates,
    RewardAssigned,
    RolloutRequested,
    RunFinished,
    RunRequested,
)
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Message, Sampling, Usage
from odradek_schemas.rollouts import Group, RolloutStatus
from odradek_schemas.topics import BY_NAME
from odradek_task_producer.count import Count
from odradek_task_producer.events import DatasetLoaded, TasksPrepared
from odradek_task_producer.fold import ProducerFold
from odradek_task_producer.plan import Plan
from odradek_task_producer.rows import PreparedTask

INPUTS = ("runs", "run-progress", "rewards")
MOST_CYCLES = 500
START = datetime(2026, 11, 29, 12, tzinfo=UTC)


class ScriptedTasks:
    """Tasks that are there at once, or (`slow`) only when asked for a second time."""

    def __init__(self, request: RunRequested, count: int, post: Post, slow: bool) -> None:
        self.request, self.count, self.post, self.slow = request, count, post, slow
        self.asked: set[int] = set()
        self.closed = False

    def __len__(self) -> int:
        return self.count

    def get(self, index: int) -> PreparedTask | None:
        if self.slow and index not in self.asked:
            self.asked.add(index)
            self.post(TasksPrepared(id="p", run_id=self.request.run_id))
            return None
        return PreparedTask(
            index=index,
            group=Group(task_id=f"{self.request.run_id}/{index}", size=self.request.samples),
            harness="tool_calling",
            session=False,
            messages=[Message(role="user", content=f"Question {index}")],
            tools=[],
            task={"number": index},
            sealed_answer="sealed",
            sampling=Sampling(),
        )

    def close(self) -> None:
        self.closed = True


class ScriptedJob:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ScriptedLoader:
    """Posts `answers[run_id]` (an event), or as many tasks as `counts` says."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.answers: dict[str, Event | None] = {}
        self.slow = False
        self.jobs: list[ScriptedJob] = []

    def load(self, request: RunRequested, post: Post) -> ScriptedJob:
        job = ScriptedJob()
        self.jobs.append(job)
        if request.run_id in self.answers:
            answer = self.answers[request.run_id]
            if answer is not None:
                post(answer)
        else:
            tasks = ScriptedTasks(request, self.counts[request.run_id], post, self.slow)
            post(DatasetLoaded(id="l", run_id=request.run_id, tasks=tasks))
        return job


class World:
    """What the brokers hold, and one fold a partition. A crash loses the fold, what was posted, and its outputs."""

    def __init__(self, partitions: int = 2, chunk: int = 4, grace: float = 600.0) -> None:
        self.partitions, self.chunk, self.grace = partitions, chunk, grace
        self.homes = partitions
        self.now = START
        self.loader = ScriptedLoader()
        self.logs: dict[tuple[str, int], list[Any]] = defaultdict(list)
        self.positions: dict[tuple[str, int], int] = defaultdict(int)
        self.posted: dict[int, list[Event]] = defaultdict(list)
        self.folds: dict[int, ProducerFold] = {}
        self.played: set[str] = set()
        self.on_commit: Callable[[], None] = lambda: None
        for partition in range(partitions):
            self.restart(partition)

    def grow(self, partitions: int) -> None:
        """Partitions are added: the new ones have owners at once, those of the old ones learn of it at a restart."""
        added = range(self.partitions, partitions)
        self.partitions = partitions
        for partition in added:
            self.restart(partition)

    def restart(self, partition: int, compacted: bool = False) -> None:
        """A new owner takes over: the fold is restored from its ledger."""
        if partition in self.folds:
            self.folds[partition].close()
        self.posted[partition] = []
        context = FoldContext(partition, self.partitions, self.homes, self.posted[partition].append)
        fold = ProducerFold(
            Plan(context, self.loader, self.chunk, progress_seconds=0.5, cancel_grace_seconds=self.grace),
            Count(partition, self.homes),
        )
        for offset, entry in enumerate(self.ledger(partition, compacted)):
            if not isinstance(entry, Tombstone):
                fold.restore(entry, offset)
        assert fold.restored() == []
        self.folds[partition] = fold

    def ledger(self, partition: int, compacted: bool = False) -> list[Any]:
        log = self.logs["ledger", partition]
        if not compacted:
            return list(log)
        newest = {entry.key: number for number, entry in enumerate(log)}
        kept = [log[number] for number in sorted(newest.values())]
        return [entry for entry in kept if not isinstance(entry, Tombstone)]

    def write(self, event: Event, topic: str = "runs", partition: int | None = None) -> None:
        """Somebody writes `event`, by default to its key's partition. It must survive the wire."""
        encoded = encode(event, "test")
        where = RecordCoordinates(topic=topic, partition=0, offset=0)
        copy = decode(BY_NAME[topic], read_envelope(encoded.headers, where), encoded.value or b"", where)
        target = partition_of(event.key, self.partitions) if partition is None else partition
        self.logs[topic, target].append(copy)

    def cycle(self, partition: int, most: int = 100, crash: bool = False) -> bool:
        """One cycle of `partition`; True when there was anything to do."""
        fold = self.folds[partition]
        taken = {
            topic: self.logs[topic, partition][self.positions[topic, partition] :][:most] for topic in INPUTS
        }
        posted, self.posted[partition][:] = list(self.posted[partition]), []
        fold.begin(len(self.logs["ledger", partition]), self.now)
        for topic, events in taken.items():
            for event in events:
                assert fold.accept(event, RecordCoordinates(topic=topic, partition=partition, offset=0)) == []
        for event in posted:
            fold.accept(event, None)
        outputs = fold.fire(self.now)
        if crash:
            self.restart(partition)
            return True
        for topic, events in taken.items():
            self.positions[topic, partition] += len(events)
        for output in outputs:
            self.commit(output, partition)
        self.on_commit()
        return bool(outputs or posted or any(taken.values()))

    def commit(self, output: Output | Tombstone, partition: int) -> None:
        if isinstance(output, Tombstone):
            self.logs[output.topic, partition].append(output)
        else:
            self.write(
                output.event, output.topic, partition if output.partition is None else output.partition
            )

    def settle(self) -> None:
        """Cycle until nothing is left to do."""
        for _ in range(MOST_CYCLES):
            if not max([self.cycle(partition) for partition in range(self.partitions)]):
                return
        raise AssertionError("the folds never come to rest")

    def play(self, most: int = 1_000_000, **fields: Any) -> int:
        """Rollouts that are out, at most `most`, get their rewards. Returns how many."""
        out = [
            (rollout, partition)
            for partition in range(self.partitions)
            for rollout in self.logs["tasks", partition]
            if rollout.rollout_id not in self.played
        ][:most]
        for rollout, partition in out:
            self.played.add(rollout.rollout_id)
            self.write(make_reward(rollout, **fields), "rewards", partition)
        return len(out)

    def finish(self) -> None:
        """Play and cycle until all is over."""
        self.settle()
        while self.play():
            self.settle()

    def read(self, topic: str, kind: type[Event] | None = None) -> list[Any]:
        """All records of a topic, partition by partition."""
        events = [event for partition in range(self.partitions) for event in self.logs[topic, partition]]
        return [event for event in events if kind is None or isinstance(event, kind)]

    def finished(self, run_id: str) -> RunFinished:
        (event,) = [event for event in self.read("runs", RunFinished) if event.run_id == run_id]
        assert isinstance(event, RunFinished)
        return event

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def request(self, run_id: str = "r", tasks: int = 3, **fields: Any) -> RunRequested:
        """Ask for a run over `tasks` tasks."""
        self.loader.counts[run_id] = tasks
        event = RunRequested(
            id=run_id,
            run_id=run_id,
            environment="toy",
            dataset=Dataset(uri="blob:x", name="toy.jsonl"),
            model="m",
            **fields,
        )
        self.write(event)
        return event


def make_reward(
    rollout: RolloutRequested, reward: float | None = 1.0, failure: Failure | None = None, **fields: Any
) -> RewardAssigned:
    return RewardAssigned(
        **{
            "id": rollout.rollout_id,
            "run_id": rollout.run_id,
            "rollout_id": rollout.rollout_id,
            "reward": reward,
            "masked": reward is None,
            "status": RolloutStatus.COMPLETED if failure is None else RolloutStatus.FAILED,
            "failure": failure,
            "environment": rollout.environment,
            "model": rollout.model,
            "group": rollout.group,
            "sample": rollout.sample,
            "turns": 1,
            "attempt": 1,
            "usage": Usage(prompt_tokens=10, completion_tokens=5),
            "started_at": START,
            "finished_at": START,
            "trajectory": RecordCoordinates(topic="trajectories", partition=0, offset=0),
            **fields,
        }
    )


@pytest.fixture
def reward_for() -> Callable[..., RewardAssigned]:
    """Makes the reward of a rollout."""
    return make_reward


@pytest.fixture(scope="session")
def new_world() -> type[World]:
    """Makes worlds: for property tests, which need a fresh one for each example."""
    return World


@pytest.fixture
def world() -> World:
    return World()
