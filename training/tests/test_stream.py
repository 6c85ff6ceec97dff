"""`RewardStream` on a real broker."""

import json
from typing import Any

import pytest

from odradek_training import RewardStream

pytestmark = pytest.mark.kafka


def a_run(makes: Any, tasks: int = 4) -> list[Any]:
    rewards = [makes.reward(task, sample, float(sample)) for sample in range(2) for task in range(tasks)]
    return [makes.run(), *rewards, makes.finish(2 * tasks)]


async def test_a_run_is_given_out_in_whole_groups_and_ends(world: Any, makes: Any) -> None:
    await world.write(*a_run(makes))
    async with RewardStream(world.deployment, run="r", group_size=2) as stream:
        groups = [group async for group in stream]
    assert sorted(group.task_id for group in groups) == ["r/0", "r/1", "r/2", "r/3"]
    assert all([reward.sample for reward in group.rewards] == [0, 1] for group in groups)


async def test_a_position_goes_on_where_it_was_taken(world: Any, makes: Any) -> None:
    await world.write(*a_run(makes))
    given: list[str] = []
    position = None
    for _ in range(5):
        async with RewardStream(world.deployment, run="r", position=position) as stream:
            async for group in stream:
                given.append(group.task_id)
                position = json.loads(json.dumps(stream.position()))
                break
    assert sorted(given) == ["r/0", "r/1", "r/2", "r/3"]


def test_without_an_event_loop_it_is_an_ordinary_iterator(world: Any, makes: Any) -> None:
    import asyncio

    asyncio.run(world.write(*a_run(makes)))
    with RewardStream.sync(world.deployment, run="r") as stream:
        groups = list(stream)
        assert stream.stats().groups == len(groups) == 4
