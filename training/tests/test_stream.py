"""`RewardStream` on a real broker."""

import asyncio
import json
from typing import Any

import pytest

from odradek_runtime.partitioning import partition_of
from odradek_schemas.events import RunStatus
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.rollouts import Group as GroupOf
from odradek_training import (
    Deployment,
    Group,
    PositionLost,
    RewardStream,
    RunDiffers,
    RunFailed,
    RunNotFound,
    StreamIdle,
    StreamUnreachable,
)
from tests.support.s3 import refusal, s3_server

pytestmark = pytest.mark.kafka
TASKS = [f"r/{task}" for task in range(4)]


def rewards(makes: Any, run_id: str = "r", **more: Any) -> list[Any]:
    return [makes.reward(t, s, float(s), run_id=run_id, **more) for s in range(2) for t in range(4)]


async def read(world: Any, **parameters: Any) -> list[Group]:
    async with RewardStream(world.deployment, **({"run": "r"} | parameters)) as stream:
        return [group async for group in stream]


def tasks(groups: list[Group]) -> list[str]:
    return sorted(group.task_id for group in groups)


async def test_a_run_is_given_out_in_whole_groups_and_ends(world: Any, makes: Any) -> None:
    """Other runs, other scorings and what is no reward are passed over; large values come from the blob store."""
    others = [*rewards(makes, "other"), *rewards(makes, scoring="again"), makes.run("other")]
    await world.write(makes.run(), *others)
    await world.write(*rewards(makes, samples=[makes.tokens(1, 2, 3)]), in_blobs=True)
    await world.write(makes.finish())
    async with RewardStream(world.deployment, run="r", group_size=2) as stream:
        groups = [group async for group in stream]
        stats = stream.stats()
    assert tasks(groups) == TASKS
    for group in groups:
        assert [reward.sample for reward in group.rewards] == [0, 1]
        assert [sample.token_ids for _, sample in group.samples] == [[1, 2, 3], [1, 2, 3]]
    assert (stats.groups, stats.rollouts, stats.dropped_groups, stats.open_groups) == (4, 8, {}, 0)
    assert tasks(await read(world, scoring="again")) == TASKS


async def test_large_values_come_from_a_bucket_as_well(
    world: Any, makes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: groups that miss what a bucket does not give at the moment."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with s3_server() as s3:
        for name, value in s3.environment.items():
            monkeypatch.setenv(name, value)
        world.blob_store = f"s3://{s3.make_bucket('rewards-' + world.prefix[:-1])}"
        await world.write(makes.run())
        await world.write(*rewards(makes, samples=[makes.tokens(1, 2, 3)]), in_blobs=True)
        await world.write(makes.finish())
        assert tasks(await read(world)) == TASKS
        s3.fault = lambda _request: refusal(503, "SlowDown")
        with pytest.raises(StreamUnreachable, match="503 SlowDown"):
            await read(world)


async def test_ranks_share_a_run_and_each_goes_on_from_a_position_of_its_own(world: Any, makes: Any) -> None:
    await world.write(makes.run(), *rewards(makes), makes.finish())
    given: list[str] = []
    for rank in range(2):
        position, stopped = None, False
        while not stopped:
            stream = RewardStream(world.deployment, run="r", rank=rank, ranks=2, position=position)
            async with stream:
                stopped = True
                async for group in stream:
                    given.append(group.task_id)
                    position, stopped = json.loads(json.dumps(stream.position())), False
                    break
    assert sorted(given) == TASKS


async def test_partitions_that_are_added_are_read_too(world: Any, makes: Any) -> None:
    """By a stream that is open, which must not take the run for over before, and from a position of before."""
    first, *later = [makes.reward(task, sample, 1.0) for task in range(4) for sample in range(2)]
    await world.write(makes.run(demand=8), first, later[0])
    async with RewardStream(world.deployment, run="r", ahead=4) as stream:
        given = [(await anext(stream)).task_id]
        position = json.loads(json.dumps(stream.position()))
        await world.grow(8)
        assert {partition_of(reward.rollout_id, 8) for reward in later[1:]} - set(range(3))
        await world.write(*later[1:], partitions=8)
        await world.write(makes.finish())
        given += [group.task_id async for group in stream]
    assert sorted(given) == TASKS
    again = await read(world, position=position)
    assert tasks(again) == [task for task in TASKS if task != given[0]]
    assert all(len(group.rewards) == 2 for group in again)


def test_without_an_event_loop_it_is_an_ordinary_iterator(world: Any, makes: Any) -> None:
    asyncio.run(world.write(makes.run(), *rewards(makes), makes.finish()))
    with RewardStream.sync(world.deployment, run="r") as stream:
        groups = list(stream)
        assert stream.stats().groups == len(groups) == 4
        assert stream.position()["done"] == {}


async def test_the_demand_goes_ahead_of_what_is_given_out(world: Any, makes: Any) -> None:
    await world.write(makes.run(demand=0), *rewards(makes))
    async with RewardStream(world.deployment, run="r", ahead=2) as stream:
        assert await world.demands() == []
        await anext(stream)
        assert await world.demands() == [4]
        await anext(stream)
        await anext(stream)
        assert await world.demands() == [4, 6, 8]
    async with RewardStream(world.deployment, run="r") as stream:
        await stream.want(3)
        await stream.want(6)
    assert await world.demands() == [4, 6, 8, 12]


async def test_for_a_group_that_was_dropped_another_one_is_asked_for(world: Any, makes: Any) -> None:
    """Caught: a trainer that asks by itself waited for ever for what nobody played."""
    lacking = [makes.reward(0, 0, None), makes.reward(0, 1)]
    whole = [makes.reward(1, 0), makes.reward(1, 1)]
    await world.write(makes.run(demand=0), *lacking, *whole)
    async with RewardStream(world.deployment, run="r", incomplete="drop", idle_timeout=2.0) as stream:
        await stream.want(2)
        assert (await anext(stream)).task_id == "r/1"
        with pytest.raises(StreamIdle):
            await anext(stream)
    assert await world.demands() == [4, 6]


async def test_what_a_newer_policy_made_stale_is_not_given_out(world: Any, makes: Any) -> None:
    played = {"policy_version": "3"}
    await world.write(makes.run(), *rewards(makes, **played), makes.finish(), makes.policy("4"))
    async with RewardStream(world.deployment, run="r", max_staleness=1) as stream:
        await anext(stream)
        await world.write(makes.policy("5"))
        assert [group async for group in stream] == []
        stats = stream.stats()
    assert (stats.groups, stats.dropped_groups, stats.staleness) == (1, {"stale": 3}, {1: 2})


async def test_a_group_that_lacks_rollouts_is_closed_by_the_logs_time(world: Any, makes: Any) -> None:
    """Nothing is waited for: the rewards were written long ago, and every partition is read to its end."""
    await world.write(makes.run(samples=3), makes.reward(0, 0), makes.reward(1, 0))
    await world.write(makes.reward(0, 1), seconds=20)
    await world.write(makes.reward(1, 1), seconds=90)
    found = {"incomplete": "partial", "group_deadline": 60.0}
    async with RewardStream(world.deployment, run="r", **found) as stream:
        group = await anext(stream)
    assert (group.task_id, group.size, [reward.sample for reward in group.rewards]) == ("r/0", 3, [0, 1])


async def test_a_cancelled_run_ends_and_its_groups_with_it(world: Any, makes: Any) -> None:
    cancelled = makes.finish(status=RunStatus.CANCELLED)
    await world.write(makes.run(), makes.reward(0, 0), makes.reward(0, 1), makes.reward(1, 0), cancelled)
    async with RewardStream(world.deployment, run="r") as stream:
        assert [group.task_id async for group in stream] == ["r/0"]
        assert stream.stats().dropped_groups == {"missing": 1}


async def test_all_runs_of_an_environment_are_read_as_they_come(world: Any, makes: Any) -> None:
    await world.write(makes.run("a"), makes.run("b", environment="other"))
    async with RewardStream(world.deployment, environment="mcqa") as stream:
        await world.write(*rewards(makes, "a"), *rewards(makes, "b"))
        await world.write(makes.run("c"), *rewards(makes, "c"), makes.finish(run_id="c"))
        found = [await anext(stream) for _ in range(8)]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 0.5)
    assert {group.run_id for group in found} == {"a", "c"}


async def test_an_imported_run_is_what_is_there(world: Any, makes: Any) -> None:
    """Nobody says that it has ended, and its tasks may have been played differently often."""
    alone = makes.reward(1, 0, group=GroupOf(task_id="r/1", size=1))
    await world.write(makes.imported(samples=2), makes.reward(0, 0), makes.reward(0, 1), alone)
    assert [len(group.rewards) for group in sorted(await read(world), key=lambda g: g.task_id)] == [2, 1]


async def test_a_wait_that_is_cancelled_loses_nothing(world: Any, makes: Any) -> None:
    await world.write(makes.run())
    found = []
    async with RewardStream(world.deployment, run="r") as stream:
        for batch in (rewards(makes)[:5], [*rewards(makes)[5:], makes.finish()]):
            await world.write(*batch)
            for _ in range(20):
                try:
                    found.append(await asyncio.wait_for(anext(stream, None), 0.02))
                except TimeoutError:
                    continue
        found = [group for group in found if group] + [group async for group in stream]
    assert tasks(found) == TASKS


async def test_what_can_not_be_read_is_said(world: Any, makes: Any) -> None:
    failure = Failure(kind=FailureKind.INVALID_DATASET, stage=Stage.PLAN, message="row 3 has no question")
    failed = makes.finish(0, "failed", status=RunStatus.FAILED, failure=failure)
    await world.write(makes.run(), makes.run("failed"), failed, makes.reward(0, 0))
    with pytest.raises(RunNotFound, match="no run 'nope'"):
        await read(world, run="nope")
    with pytest.raises(RunDiffers, match="plays 2 rollouts of each task, the stream wants groups of 8"):
        await read(world, group_size=8)
    with pytest.raises(RunDiffers, match="--demand 0"):
        await read(world, ahead=1)
    with pytest.raises(RunFailed, match="row 3 has no question"):
        await read(world, run="failed")
    with pytest.raises(StreamIdle, match=r"r/0 lacks 1 of 2"):
        await read(world, idle_timeout=0.1)
    async with RewardStream(world.deployment, run="r") as stream:
        position = stream.position()
    with pytest.raises(PositionLost, match="from offset 99"):
        await read(world, position=position | {"offsets": {"0": 99}})
    with pytest.raises(StreamUnreachable, match="has no topic"):
        await RewardStream(Deployment(world.bootstrap, "nope."), run="r").__aenter__()
