"""Whatever crashes, and whenever: no rollout goes out twice, none is missed, and each run ends once."""

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek_schemas.events import (
    RewardAssigned,
    RolloutRequested,
    RunCancelRequested,
    RunDemandRaised,
    RunFinished,
    RunProgressed,
)

PARTITIONS = 3
MOST_ROUNDS = 2000

seeds = st.integers(0, 2**32)
crashes = st.sampled_from([0.0, 0.1, 0.5])
runs = st.lists(
    st.fixed_dictionaries(
        {"tasks": st.integers(1, 6), "samples": st.integers(1, 4), "concurrency": st.integers(1, 9)}
    ),
    min_size=1,
    max_size=3,
)


def live_badly(world: Any, chance: Random, crashes: float, until: Callable[[], bool]) -> None:
    """Partitions work at random paces, and some cycles are lost, until `until` or for a long time."""
    for _ in range(MOST_ROUNDS):
        if until():
            return
        partition = chance.randrange(world.partitions)
        if chance.random() < crashes / 2:
            world.restart(partition, compacted=chance.random() < 0.5)
        world.cycle(partition, most=chance.randrange(6), crash=chance.random() < crashes)
        if chance.random() < 0.5:
            world.play(chance.randrange(1, 5))
        world.pass_time(chance.random() / 2)


def ended(world: Any, runs: int) -> bool:
    return len(world.read("runs", RunFinished)) >= runs


def check_bounds(world: Any, concurrency: dict[str, int]) -> None:
    rollouts = [rollout.rollout_id for rollout in world.read("tasks", RolloutRequested)]
    assert len(rollouts) == len(set(rollouts)), "a rollout went out twice"
    rewarded = {reward.rollout_id for reward in world.read("rewards", RewardAssigned)}
    for run_id, most in concurrency.items():
        unfinished = [r for r in rollouts if r.startswith(f"{run_id}/") and r not in rewarded]
        assert len(unfinished) <= most, "more rollouts are out than the run's concurrency"


def check_end(world: Any, run_id: str, run: dict[str, int]) -> None:
    planned = run["tasks"] * run["samples"]
    expected = {f"{run_id}/{i // run['samples']}/{i % run['samples']}" for i in range(planned)}
    assert {r.rollout_id for r in world.read("tasks") if r.run_id == run_id} == expected
    end = world.finished(run_id)
    assert (end.status, end.planned, end.admitted) == ("finished", planned, planned)
    assert (end.counts.finished, end.counts.reward_sum) == (planned, planned)
    assert end.counts.usage.total_tokens == 15 * planned
    told = [progress for progress in world.read("run-progress", RunProgressed) if progress.run_id == run_id]
    assert told[-1].counts == end.counts


@settings(max_examples=100, deadline=None)
@given(runs=runs, seed=seeds, crashes=crashes, slow=st.booleans())
def test_each_rollout_goes_out_once_and_each_run_ends_once(
    new_world: Any, runs: list[dict[str, int]], seed: int, crashes: float, slow: bool
) -> None:
    world = new_world(partitions=PARTITIONS)
    world.loader.slow = slow
    named = {f"run{number}": run for number, run in enumerate(runs)}
    world.on_commit = lambda: check_bounds(world, {name: run["concurrency"] for name, run in named.items()})
    for run_id, run in named.items():
        world.request(run_id, **run)
    live_badly(world, Random(seed), crashes, lambda: ended(world, len(named)))
    world.finish()
    for run_id, run in named.items():
        check_end(world, run_id, run)


@settings(max_examples=100, deadline=None)
@given(runs=runs, seed=seeds, crashes=crashes, added=st.integers(1, 5), grow_at=st.integers(0, 20))
def test_partitions_that_are_added_under_live_runs_change_nothing(
    new_world: Any, runs: list[dict[str, int]], seed: int, crashes: float, added: int, grow_at: int
) -> None:
    world, chance = new_world(partitions=PARTITIONS), Random(seed)
    named = {f"run{number}": run for number, run in enumerate(runs)}
    late = {f"late{number}": run for number, run in enumerate(runs)}
    for run_id, run in named.items():
        world.request(run_id, **run)
    live_badly(
        world, chance, crashes, lambda: ended(world, len(named)) or len(world.read("tasks")) >= grow_at
    )
    world.grow(PARTITIONS + added)
    for run_id, run in late.items():
        world.request(run_id, **run)
    live_badly(world, chance, crashes, lambda: ended(world, len(named) + len(late)))
    world.finish()
    check_bounds(world, {})
    for run_id, run in (named | late).items():
        check_end(world, run_id, run)


@settings(max_examples=100, deadline=None)
@given(seed=seeds, crashes=crashes, demand=st.integers(0, 20), cancel_at=st.integers(0, 20))
def test_a_cancelled_run_ends_once_when_all_that_is_out_is_over(
    new_world: Any, seed: int, crashes: float, demand: int, cancel_at: int
) -> None:
    world, chance = new_world(partitions=PARTITIONS), Random(seed)
    world.on_commit = lambda: check_bounds(world, {"run0": 3})
    world.request("run0", tasks=10, samples=2, concurrency=3, demand=0)
    world.write(RunDemandRaised(id="d", run_id="run0", demand=demand))
    enough = min(cancel_at, demand)
    live_badly(world, chance, crashes, lambda: len(world.read("tasks")) >= enough)
    world.write(RunCancelRequested(id="c", run_id="run0"))
    live_badly(world, chance, crashes, lambda: ended(world, 1))
    world.finish()
    end = world.finished("run0")
    out = len(world.read("tasks"))
    assert enough <= out <= demand
    assert end.status == ("cancelled" if world.read("control") else "finished")
    assert end.admitted == end.counts.finished == out
    assert len(world.read("control")) <= 1
