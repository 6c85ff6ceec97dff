"""Interleavings in which the fuzz found the runtime wrong, each by itself."""

from collections.abc import Iterator

import pytest
from fuzz_processors import A
from fuzz_verdict import GROUP
from fuzz_world import World
from kafka_network import Fault


@pytest.fixture
def world() -> Iterator[World]:
    world = World("journal", seed=1)
    world.rollouts = [[0, 99, 0]]
    yield world
    world.close()


def test_a_number_lost_between_two_generations_is_acquired_by_the_next_assignment_and_not_by_spinning(
    world: World,
) -> None:
    world.start()
    world.advance(3)
    world.arm(Fault("SyncGroup", 1, "slow", 4.0, "p1"))
    world.start()
    while world.broker.groups[GROUP].state != "syncing":
        world.put(A, [(0, "timer")])
        world.advance(0.1)
    world.arm(
        Fault("Produce", 1, "error", 10)
    )  # the commit of what a timer wrote: nothing is fetched meanwhile
    world.advance(1)
    assert [fault.request for fault in world.network.struck] == ["SyncGroup", "Produce"]
    world.settle()


def test_members_that_join_a_broker_which_has_just_come_back_are_given_their_numbers() -> None:
    """The leader's metadata knew of no topic yet: it gave nothing to anybody, and nobody asked again."""
    world = World("journal", seed=3_570_831_011, static=True)
    world.rollouts = [[0, 99, 0]]
    try:
        for number in range(3):
            world.start(f"w{number}")
            world.advance(0.02)
        world.put(A, [(0, "plain")])
        world.advance(0.6)
        world.network.crash()
        world.advance(5)
        world.network.heal()
        world.settle()
    finally:
        world.close()
