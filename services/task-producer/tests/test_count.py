from datetime import UTC, datetime
from typing import Any

import pytest

from odradek_runtime.records import Record, Tombstone
from odradek_schemas.codec import Envelope, InvalidValue
from odradek_schemas.events import (
    Dataset,
    RolloutRequested,
    RunCountChanged,
    RunCountRecorded,
    RunFinished,
    RunImported,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Group, Limits
from odradek_task_producer.app import wanted
from odradek_task_producer.count import Count

NOW = datetime(2026, 11, 29, tzinfo=UTC)
LOST = Failure(kind=FailureKind.SESSION_LOST, stage=Stage.SESSION, message="gone")


@pytest.fixture
def counted(world: Any) -> Any:
    """A world in which six rollouts of run `r` are out."""
    world.request("r", tasks=6, concurrency=100)
    world.settle()
    return world


def test_counts_by_status_and_failure_and_masks(counted: Any) -> None:
    counted.play(2, reward=0.5)
    counted.play(1, reward=None, failure=LOST)
    counted.play(1, status="truncated", reward=0.0)
    counted.play(1, status="cancelled", reward=None)
    counted.play(1)
    counted.settle()
    counts = counted.finished("r").counts
    assert (counts.finished, counts.completed, counts.truncated, counts.failed, counts.cancelled) == (
        6,
        3,
        1,
        1,
        1,
    )
    assert counts.masked == 2
    assert counts.reward_sum == 2.0
    assert counts.reward_square_sum == 1.5
    assert counts.mean_reward == 0.5
    assert counts.failures == {"session_lost": 1}
    assert (counts.usage.prompt_tokens, counts.usage.completion_tokens) == (60, 30)


def test_rescores_are_not_counted(counted: Any) -> None:
    counted.play(scoring="rescore-1")
    counted.settle()
    assert counted.read("run-progress", RunCountChanged) == []


def test_each_run_is_told_once_a_cycle_however_many_rewards_there_were(counted: Any) -> None:
    counted.play()
    counted.cycle(0)
    told = counted.read("run-progress", RunCountChanged)
    here = len(counted.logs["rewards", 0])
    assert here > 1
    assert [(change.partition, change.counts.finished) for change in told] == [(0, here)]
    assert [r.counts.finished for r in counted.read("ledger", RunCountRecorded)] == [here]


def test_counts_are_forgotten_when_their_run_is_over(counted: Any) -> None:
    counted.finish()
    assert counted.finished("r")
    for partition in range(counted.partitions):
        left = [entry.key for entry in counted.ledger(partition, compacted=True)]
        assert [key for key in left if "/count" in key or "/sum/" in key] == []


def test_counts_of_a_run_that_nobody_owns_are_forgotten(world: Any, new_world: Any) -> None:
    other = new_world()
    other.request("imported", tasks=1)
    other.settle()
    (rollout,) = other.read("tasks")
    other.play()
    (reward,) = other.read("rewards")
    world.write(reward, "rewards", 0)
    world.settle()
    assert world.read("runs") == []
    assert world.ledger(0, compacted=True) == []
    assert rollout.run_id == "imported"


def reward_record(scoring: str | None) -> Record:
    envelope = Envelope("RewardAssigned", "r/0/0", "r", "r/0/0", scoring, None, None)
    return Record("rewards", 0, 7, b"r/0/0", b"{", (), envelope)


@pytest.mark.parametrize(("scoring", "finished"), [("primary", 1), ("rescore-1", 0)])
def test_an_unreadable_first_reward_is_counted_as_failed_and_masked(
    world: Any, scoring: str, finished: int
) -> None:
    record = reward_record(scoring)
    fold = world.folds[0]
    fold.begin(0, world.now)
    fold.reject(record, InvalidValue(record.coordinates, "cut short"))
    told = [output.event for output in fold.fire(world.now) if output.topic == "run-progress"]
    assert len(told) == finished
    if finished:
        counts = told[0].counts
        assert (counts.finished, counts.failed, counts.masked) == (1, 1, 1)
        assert counts.failures == {"unreadable_record": 1}


def test_a_reward_that_comes_with_the_release_of_its_run_is_forgotten_with_it(counted: Any) -> None:
    counted.play()
    rewards = counted.logs["rewards", 0]
    count = Count(0, 2)
    count.accept(rewards[0])
    assert len(count.drain(0, NOW)) == 2
    count.accept(rewards[1])
    count.release("r")
    assert count.drain(0, NOW) == [Tombstone("ledger", "r/count")]


def test_release_of_unknown_counts_writes_nothing() -> None:
    count = Count(0, 2)
    count.release("never-counted")
    assert not any(isinstance(output, Tombstone) for output in count.drain(0, NOW))


def test_rollouts_that_were_imported_are_no_run_of_the_producers(world: Any, reward_for: Any) -> None:
    """They are scored like others. Nothing is planned, told of or kept for them, and a run beside them is as ever."""
    world.write(
        RunImported(
            id="old",
            run_id="old",
            environment="toy",
            dataset=Dataset(uri="file:///a.jsonl", name="a.jsonl"),
            format="nemo-gym",
            digest="d",
            model="m",
            samples=1,
            rollouts=4,
        )
    )
    for number in range(4):
        world.write(reward_for(_rollout(number)), "rewards")
    world.request("r", tasks=2)
    world.finish()
    assert [event.run_id for event in world.read("runs", RunFinished)] == ["r"]
    assert world.finished("r").counts.finished == 2
    assert {event.run_id for event in world.read("tasks", RolloutRequested)} == {"r"}
    left = [entry for partition in range(2) for entry in world.ledger(partition, compacted=True)]
    assert {entry.run_id for entry in left} == {"r"}


@pytest.mark.parametrize(
    ("topic", "scoring", "expected"),
    [
        ("rewards", "primary", True),
        ("rewards", "recorded", False),
        ("rewards", "again-1", False),
        ("rewards", None, True),
        ("runs", None, True),
    ],
)
def test_only_first_rewards_are_decoded(topic: str, scoring: str | None, expected: bool) -> None:
    envelope = Envelope("RewardAssigned", "i", "r", "r/0/0", scoring, None, None)
    assert wanted(topic, envelope) is expected


def _rollout(number: int) -> RolloutRequested:
    name = f"old/{number}/0"
    return RolloutRequested(
        id=name,
        run_id="old",
        rollout_id=name,
        group=Group(task_id=f"old/{number}", size=1),
        sample=0,
        environment="toy",
        harness="tool_calling",
        model="m",
        messages=[],
        session=False,
        task={},
        seed=0,
        limits=Limits(),
    )
