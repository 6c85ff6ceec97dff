"""Whatever crashes, and whenever: no rollout goes out twice, none is missed, and each run ends once."""

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

steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("cycle"),
            st.integers(0, PARTITIONS - 1),
            st.integers(0, 5),
            st.sampled_from([False, True]),
        ),
        st.tuples(st.just("restart"), st.integers(0, PARTITIONS - 1), st.booleans()),
        st.tuples(st.just("play"), st.integers(1, 6)),
        st.tuples(st.just("time"), st.floats(0.1, 2.0)),
    ),
    max_size=60,
)
runs = st.lists(
    st.fixed_dictionaries(
        {"tasks": st.integers(1, 6), "samples": st.integers(1, 4), "concurrency": st.integers(1, 9)}
    ),
    min_size=1,
    max_size=3,
)


def act(world: Any, step: tuple[Any, ...]) -> None:
    match step:
        case ("cycle", partition, most, crash):
            world.cycle(partition, most, crash)
        case ("restart", partition, compacted):
            world.restart(partition, compacted)
        case ("play", most):
            world.play(most)
        case ("time", seconds):
            world.pass_time(seconds)


def check_bounds(world: Any, concurrency: dict[str, int]) -> None:
    rollouts = [rollout.rollout_id for rollout in world.read("tasks", RolloutRequested)]
    assert len(rollouts) == len(set(rollouts)), "a rollout went out twice"
    rewarded = {reward.rollout_id for reward in world.read("rewards", RewardAssigned)}
    for run_id, most in concurrency.items():
        unfinished = [r for r in rollouts if r.startswith(f"{run_id}/") and r not in rewarded]
        assert len(unfinished) <= most, "more rollouts are out than the run's concurrency"


@settings(max_examples=120, deadline=None)
@given(runs=runs, steps=steps, slow=st.booleans())
def test_each_rollout_goes_out_once_and_each_run_ends_once(
    new_world: Any, runs: list[dict[str, int]], steps: list[tuple[Any, ...]], slow: bool
) -> None:
    world = new_world(partitions=PARTITIONS)
    world.loader.slow = slow
    concurrency = {f"run{number}": run["concurrency"] for number, run in enumerate(runs)}
    world.on_commit = lambda: check_bounds(world, concurrency)
    for number, run in enumerate(runs):
        world.request(f"run{number}", **run)
    for step in steps:
        act(world, step)
    world.finish()
    for number, run in enumerate(runs):
        planned = run["tasks"] * run["samples"]
        expected = {f"run{number}/{i // run['samples']}/{i % run['samples']}" for i in range(planned)}
        out = {r.rollout_id for r in world.read("tasks") if r.run_id == f"run{number}"}
        assert out == expected
        end = world.finished(f"run{number}")
        assert (end.status, end.planned, end.admitted, end.counts.finished) == (
            "finished",
            planned,
            planned,
            planned,
        )
        assert end.counts.reward_sum == planned
        assert end.counts.usage.total_tokens == 15 * planned
        told = [p for p in world.read("run-progress", RunProgressed) if p.run_id == f"run{number}"]
        assert told[-1].counts == end.counts


@settings(max_examples=80, deadline=None)
@given(steps=steps, more=steps, demand=st.integers(0, 12))
def test_a_cancelled_run_ends_once_when_all_that_is_out_is_over(
    new_world: Any, steps: list[tuple[Any, ...]], more: list[tuple[Any, ...]], demand: int
) -> None:
    world = new_world(partitions=PARTITIONS)
    world.request("run0", tasks=5, samples=2, concurrency=3, demand=0)
    world.write(RunDemandRaised(id="d", run_id="run0", demand=demand))
    for step in steps:
        act(world, step)
    world.write(RunCancelRequested(id="c", run_id="run0"))
    for step in more:
        act(world, step)
    world.finish()
    end = world.finished("run0")
    out = len(world.read("tasks"))
    assert out <= min(10, demand)
    assert end.status == ("finished" if not world.read("control") else "cancelled")
    assert end.admitted == end.counts.finished == out
    assert len(world.read("runs", RunFinished)) == 1
    assert len(world.read("control")) <= 1
