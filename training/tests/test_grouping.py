"""Groups and positions, whatever the interleaving of partitions and whenever the trainer dies."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_lab import Makes

from odradek_schemas.events import PolicyUpdated
from odradek_training import PolicyUnordered
from odradek_training.arrival import Arrival
from odradek_training.grouping import Grouping
from odradek_training.policies import Policies
from odradek_training.position import Position, read_position
from odradek_training.rules import Rules
from odradek_training.selection import Selection

SIZE, PARTITIONS = 3, 3
MAKES = Makes()
SELECTION = Selection(runs=("r",))


def arrival(
    reward: Any,
    partition: int = 0,
    offset: int = 0,
    time: float = 0.0,
    size: int = SIZE,
    readable: bool = True,
) -> Arrival:
    return Arrival(
        run_id=reward.run_id,
        task_id=reward.group.task_id,
        rollout_id=reward.rollout_id,
        size=size,
        partition=partition,
        offset=offset,
        time=time,
        reward=reward if readable else None,
    )


@dataclass(frozen=True)
class Entry:
    """One record of the log that a test plays."""

    task: int
    sample: int
    gap: int
    seconds: int
    end: str


Log = tuple[tuple[Entry, ...], ...]
"""The records of each partition."""


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Rollouts of some tasks on some partitions, with markers between, some failed, some unreadable, some never there."""
    rollouts = [(task, sample) for task in range(draw(st.integers(1, 5))) for sample in range(SIZE)]
    partitions: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
    for task, sample in draw(st.permutations(rollouts)):
        end = draw(st.sampled_from(["well"] * 6 + ["masked", "unreadable", "absent"]))
        if end != "absent":
            entry = Entry(task, sample, draw(st.integers(0, 2)), draw(st.integers(0, 4)), end)
            partitions[draw(st.integers(0, PARTITIONS - 1))].append(entry)
    return tuple(tuple(entries) for entries in partitions)


def placed(log: Log) -> list[list[Arrival]]:
    """The log with offsets and times, both growing within a partition."""
    found = []
    for number, entries in enumerate(log):
        offset, time, arrivals = 0, 0.0, []
        for entry in entries:
            offset, time = offset + entry.gap, time + entry.seconds
            reward = MAKES.reward(entry.task, entry.sample, None if entry.end == "masked" else 1.0)
            arrivals.append(arrival(reward, number, offset, time, readable=entry.end != "unreadable"))
            offset += 1
        found.append(arrivals)
    return found


def expected(log: list[list[Arrival]], rules: Rules) -> dict[str, list[int]]:
    """The groups that a log makes, worked out from the whole of it: task to sample numbers."""
    tasks: dict[str, list[Arrival]] = {}
    for arrivals in log:
        for each in arrivals:
            tasks.setdefault(each.task_id, []).append(each)
    groups = {}
    for task_id, members in tasks.items():
        last = min(member.time for member in members) + (rules.group_deadline or float("inf"))
        fit = [
            member.reward.sample
            for member in members
            if member.time <= last and member.reward and (rules.include_masked or not member.reward.masked)
        ]
        if len(fit) >= (2 if rules.incomplete == "partial" else SIZE):
            groups[task_id] = sorted(fit)
    return groups


@dataclass
class Trainer:
    """Reads a log, trains, saves both what it trained on and the position in one checkpoint, and dies."""

    log: list[list[Arrival]]
    rules: Rules
    trained: list[tuple[str, list[int]]] = field(default_factory=list)
    checkpoint: str = ""

    def __post_init__(self) -> None:
        self.start(Position(selection=SELECTION))
        self.save()

    def start(self, position: Position) -> None:
        starts = {number: position.offsets.get(number, 0) for number in range(PARTITIONS)}
        self.grouping = Grouping(self.rules, Policies(), position, starts)
        self.unread = [
            [each for each in arrivals if each.offset >= starts[number]]
            for number, arrivals in enumerate(self.log)
        ]

    def read(self, number: int) -> None:
        if self.unread[number]:
            self.grouping.add(self.unread[number].pop(0))
        self.grouping.expire()

    def train(self) -> bool:
        group = self.grouping.take()
        if group is not None:
            self.trained.append((group.task_id, [reward.sample for reward in group.rewards]))
        return group is not None

    def save(self) -> None:
        self.checkpoint = json.dumps([self.grouping.position().dump(), self.trained])

    def die(self) -> None:
        position, self.trained = json.loads(self.checkpoint)
        self.start(read_position(position, SELECTION))

    def finish(self) -> None:
        for number in range(PARTITIONS):
            while self.unread[number]:
                self.read(number)
            end = self.log[number][-1].offset + 2 if self.log[number] else 0
            self.grouping.advance(number, end)
        self.grouping.end_run("r")
        while self.train():
            pass
        self.save()


ACTIONS: dict[str, Callable[[Trainer], object]] = {
    "read on": lambda trainer: None,
    "train": Trainer.train,
    "train and save": lambda trainer: trainer.train() and trainer.save(),
    "save": Trainer.save,
    "die": Trainer.die,
}
STEPS = st.tuples(st.integers(0, PARTITIONS - 1), st.sampled_from(sorted(ACTIONS)))
"""Which partition is read, and what happens then."""
RULES = [
    Rules(),
    Rules(incomplete="wait"),
    Rules(incomplete="partial"),
    Rules(incomplete="partial", group_deadline=3),
    Rules(incomplete="drop", group_deadline=3),
    Rules(incomplete="partial", include_masked=True, group_deadline=6),
]


@settings(max_examples=150, deadline=None)
@given(logs(), st.sampled_from(RULES), st.lists(STEPS, min_size=8, max_size=40))
def test_no_group_is_repeated_and_none_missed(log: Log, rules: Rules, steps: list[tuple[int, str]]) -> None:
    trainer = Trainer(placed(log), rules)
    for partition, action in steps:
        trainer.read(partition)
        ACTIONS[action](trainer)
    trainer.die()
    trainer.finish()
    trained = [(task, samples) for task, samples in json.loads(trainer.checkpoint)[1]]
    assert sorted(trained) == sorted(expected(trainer.log, rules).items())
    assert_nothing_is_left(trainer)


def assert_nothing_is_left(trainer: Trainer) -> None:
    """Of what is over a position remembers only the groups whose last rollouts never came."""
    position = trainer.grouping.position()
    seen = [each.task_id for arrivals in trainer.log for each in arrivals]
    assert position.done == {task: SIZE - seen.count(task) for task in seen if seen.count(task) < SIZE}
    assert position.offsets == {
        n: entries[-1].offset + 2 if entries else 0 for n, entries in enumerate(trainer.log)
    }


def grouping(*arrivals: Arrival, policies: Policies | None = None, **rules: Any) -> Grouping:
    """One that has read some records, on as many partitions as they name."""
    starts = {each.partition: 0 for each in arrivals}
    made = Grouping(Rules(**rules), policies or Policies(), Position(selection=SELECTION), starts)
    for each in arrivals:
        made.add(each)
    return made


def a_group(*rewards: float | None, **more: Any) -> list[Arrival]:
    made = [MAKES.reward(0, sample, reward, **more) for sample, reward in enumerate(rewards)]
    return [arrival(reward, offset=offset, size=len(made)) for offset, reward in enumerate(made)]


def test_masked_rollouts_are_given_out_only_when_asked() -> None:
    assert grouping(*a_group(1.0, None, 0.0)).take() is None
    partial = grouping(*a_group(1.0, None, 0.0), incomplete="partial").take()
    assert partial is not None
    assert [reward.reward for reward in partial.rewards] == [1.0, 0.0]
    assert not partial.complete
    whole = grouping(*a_group(1.0, None, 0.0), include_masked=True).take()
    assert whole is not None
    assert [reward.reward for reward in whole.rewards] == [1.0, None, 0.0]
    assert whole.advantages()[1] == 0.0


def test_one_reward_alone_is_no_group() -> None:
    assert grouping(*a_group(1.0, None, None), incomplete="partial").take() is None


def test_a_group_of_one_that_was_planned_as_one_is_whole() -> None:
    group = grouping(*a_group(1.0)).take()
    assert group is not None
    assert group.complete
    assert group.advantages() == [0.0]


def test_a_group_closes_when_its_deadline_has_passed_on_every_partition() -> None:
    first, second = MAKES.reward(0, 0), MAKES.reward(0, 1)
    made = grouping(
        arrival(first, 0, 0, time=10), arrival(second, 1, 0, time=12), incomplete="partial", group_deadline=5
    )
    made.advance(0, 9, time=16)
    made.expire()
    assert made.take() is None
    made.advance(1, 9, time=15)
    made.expire()
    assert made.take() is None, "what was written at the deadline may still come"
    made.advance(1, 9, time=15.1)
    made.expire()
    assert made.take() is not None


def test_a_rollout_that_comes_after_its_group_was_given_out_is_let_go_of() -> None:
    made = grouping(*a_group(1.0, 0.0, 1.0)[:2], incomplete="partial")
    made.end_run("r")
    assert made.take() is not None
    assert made.position().done == {"r/0": 1}
    made.add(a_group(1.0, 0.0, 1.0)[2])
    assert made.take() is None
    assert (made.position().done, made.position().offsets) == ({}, {0: 3})


def test_the_tally_says_why_rollouts_were_left_out() -> None:
    late = [arrival(MAKES.reward(1, sample), offset=10 + sample, time=9.0 * sample) for sample in range(2)]
    twice = arrival(MAKES.reward(2, 0), offset=30)
    made = grouping(
        *a_group(1.0, None, 0.0), *late, twice, arrival(MAKES.reward(2, 0), offset=31), group_deadline=5
    )
    made.end_run("r")
    assert made.take() is None
    assert made.tally.dropped_groups == {"masked": 1, "late": 1, "missing": 1}
    assert made.tally.dropped_rollouts == {"masked": 1, "incomplete": 4, "late": 1, "duplicate": 1}


def aged(current: str, *versions: str | None) -> tuple[Policies, list[Arrival]]:
    """A group whose rollouts were played by some versions, while another is current."""
    policies = Policies()
    policies.update(PolicyUpdated(id="p", model="m", version=current))
    rewards = [
        MAKES.reward(0, n, 1.0, samples=[MAKES.tokens(1, 2, policy=v)]) for n, v in enumerate(versions)
    ]
    return policies, [arrival(reward, offset=n, size=len(rewards)) for n, reward in enumerate(rewards)]


@pytest.mark.parametrize(
    ("current", "versions", "most", "given_out"),
    [
        ("7", ["7", "6"], 1, True),
        ("7", ["7", "5"], 1, False),
        ("step-12", ["step-9", "step-12"], 3, True),
        ("1", [None, None], 1, True),
        ("2", [None, None], 1, False),
        ("3", ["9", "9"], 0, True),
    ],
)
def test_staleness_has_a_bound(current: str, versions: list[str | None], most: int, given_out: bool) -> None:
    policies, arrivals = aged(current, *versions)
    assert (grouping(*arrivals, policies=policies, max_staleness=most).take() is not None) is given_out


def test_a_rollout_is_as_old_as_its_oldest_call() -> None:
    policies, _ = aged("7")
    samples = [MAKES.tokens(1, 2, policy="7"), MAKES.tokens(1, 2, policy="4")]
    assert policies.staleness(MAKES.reward(0, 0, samples=samples, policy_version="7")) == 3
    assert policies.staleness(MAKES.reward(0, 0, policy_version="5")) == 2


def test_a_version_without_a_number_is_an_error_where_staleness_is_bounded() -> None:
    policies, arrivals = aged("newest", "older", "older")
    bounded = grouping(*arrivals, policies=policies, max_staleness=1)
    for _ in range(2):
        with pytest.raises(PolicyUnordered, match="does not end in a number"):
            bounded.take()
    assert grouping(*arrivals, policies=policies).take() is not None


def test_staleness_is_that_of_the_moment_in_which_a_group_is_given_out() -> None:
    policies, arrivals = aged("7", "7", "7")
    made = grouping(*arrivals, policies=policies, max_staleness=0)
    policies.update(PolicyUpdated(id="p", model="m", version="8"))
    assert made.take() is None
    assert made.tally.dropped_groups == {"stale": 1}
