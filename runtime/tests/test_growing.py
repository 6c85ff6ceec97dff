"""Adding partitions: what is to be done (pure), and that it is done, whatever cut it short before."""

import asyncio

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.new_partitions import NewPartitions
from hypothesis import given
from hypothesis import strategies as st

from odradek_runtime.brokers import Brokers
from odradek_runtime.growing import check_layout, grow_topics, look_at_growth, plan_growth, read_layout
from odradek_runtime.names import Names
from odradek_runtime.partitioning import Layout, advice, layout_of, partition_of
from odradek_runtime.topics import TopicError, apply_topics, check_topics, diff_topics
from odradek_schemas.events import PartitionsAdded, PolicyUpdated

NAMES = ("journal", "rewards", "runs", "tasks")


def found(*counts: int) -> dict[str, int]:
    return dict(zip(NAMES, counts, strict=True))


def test_a_deployment_that_never_grew_is_told_of_when_it_does() -> None:
    growth = plan_growth((), found(4, 4, 4, 4), 8)
    assert (growth.layout, growth.told, growth.topics) == (Layout((4, 8)), False, found(4, 4, 4, 4))


def test_what_was_cut_short_is_finished() -> None:
    growth = plan_growth((4, 8), found(8, 4, 4, 8), 8)
    assert (growth.layout.counts, growth.told, growth.topics) == ((4, 8), True, {"rewards": 4, "runs": 4})


def test_nothing_is_done_twice() -> None:
    assert plan_growth((4, 8), found(8, 8, 8, 8), 8).nothing
    assert plan_growth((), found(4, 4, 4, 4), 4).nothing


def test_a_growth_that_no_topic_has_begun_can_be_left_or_changed() -> None:
    assert plan_growth((4, 8), found(4, 4, 4, 4), 4).layout.counts == (4,)
    assert plan_growth((4, 8), found(4, 4, 4, 4), 6).layout.counts == (4, 6)


def test_a_number_that_not_all_topics_reached_was_never_worked_with() -> None:
    assert plan_growth((4, 8), found(8, 4, 4, 4), 12).layout.counts == (4, 12)
    assert plan_growth((4, 8, 12), found(12, 8, 8, 8), 16).layout.counts == (4, 8, 16)


def test_what_another_tool_added_is_told_of() -> None:
    growth = plan_growth((4, 8), found(12, 12, 12, 12), 12)
    assert (growth.layout.counts, growth.told, growth.topics) == ((4, 8, 12), False, {})


@pytest.mark.parametrize("counts", [found(8, 8, 8, 8), found(4, 4, 8, 4)])
def test_partitions_are_never_taken_away(counts: dict[str, int]) -> None:
    with pytest.raises(TopicError, match=r"never takes partitions away.*--partitions 8 or more"):
        plan_growth((4, 8), counts, 6)


@given(
    first=st.integers(1, 9),
    steps=st.lists(st.tuples(st.integers(1, 9), st.sets(st.sampled_from(NAMES))), min_size=1, max_size=5),
)
def test_a_runs_owner_never_changes_and_each_planners_choice_is_looked_for(
    first: int, steps: list[tuple[int, set[str]]]
) -> None:
    """Growths that are cut short anywhere, the last of them finished; what all topics reached was worked with."""
    counts, known, worked = dict.fromkeys(NAMES, first), (), {first}
    for more, reached in steps:
        growth = plan_growth(known, counts, max(counts.values()) + more)
        known = growth.layout.counts
        counts |= dict.fromkeys(reached, growth.layout.now)
        if set(counts.values()) == {growth.layout.now}:
            worked.add(growth.layout.now)
    last = max(known or (first,))
    growth = plan_growth(known, counts, last)
    assert growth.layout.homes == first
    assert worked <= set(growth.layout.counts)
    assert growth.layout.now == last
    places = growth.layout.places("r/0/0", last)
    assert {partition_of("r/0/0", count) for count in worked} <= set(places)
    assert len(places) == len(set(places))
    assert places[0] == partition_of("r/0/0", last)


def test_a_rollout_is_not_looked_for_where_there_is_no_partition_yet() -> None:
    assert Layout((4, 8)).places("r/0/0", 4) == [partition_of("r/0/0", 4)]


def test_the_newest_word_of_control_counts() -> None:
    told = [
        PartitionsAdded(id="1", counts=[2, 4]),
        PolicyUpdated(id="p", model="m", version="1"),
        PartitionsAdded(id="2", counts=[2, 4, 6]),
    ]
    assert layout_of(told, 6) == Layout((2, 4, 6))
    assert layout_of(told[1:2], 6) == Layout((6,))


def test_a_worker_that_disagrees_with_the_log_is_told_what_to_do() -> None:
    check_layout(Layout((4, 8)), 8)
    with pytest.raises(TopicError, match=r"cut short.*grow --partitions 8` again, or with 4"):
        check_layout(Layout((4, 8)), 4)
    with pytest.raises(TopicError, match=r"another tool.*grow --partitions 12`"):
        check_layout(Layout((4, 8)), 12)


def test_what_to_do_depends_on_what_the_topics_have() -> None:
    assert advice([8], 4) == "Set ODRADEK_PARTITIONS=8; another ODRADEK_TOPIC_PREFIX is another deployment"
    assert "`odradek topics grow --partitions 8`;" in advice([4], 8)
    assert "run `odradek topics grow --partitions 8` (again)" in advice([4, 8], 4)


@pytest.mark.kafka
async def test_grows_and_says_so_whoever_began_it(kafka: str, prefix: str) -> None:
    with pytest.raises(TopicError, match=r"are missing.*`odradek topics apply`"):
        await look_at_growth(Brokers(kafka), prefix, 4)
    await apply_topics(Brokers(kafka), prefix, 2)
    assert len((await look_at_growth(Brokers(kafka), prefix, 4)).topics) == 22
    await check_topics(Brokers(kafka), prefix, 2)

    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await admin.create_partitions({f"{prefix}journal": NewPartitions(4)})
    await admin.close()
    async with asyncio.timeout(30):
        while True:  # brokers learn of it a moment later
            if await diff_topics(Brokers(kafka), prefix, 2):
                break
            await asyncio.sleep(0.05)
    for counted_on in (2, 4):
        with pytest.raises(TopicError, match=r"cut short.*grow --partitions 4` \(again\)"):
            await check_topics(Brokers(kafka), prefix, counted_on)

    growth = await grow_topics(Brokers(kafka), prefix, 4)
    assert len(growth.topics) == 21
    await check_topics(Brokers(kafka), prefix, 4)
    assert await read_layout(Brokers(kafka), Names(prefix), 4) == Layout((2, 4))
    assert (await grow_topics(Brokers(kafka), prefix, 4)).nothing
    with pytest.raises(TopicError, match="Set ODRADEK_PARTITIONS=4;"):
        await check_topics(Brokers(kafka), prefix, 2)
    with pytest.raises(TopicError, match="never takes partitions away"):
        await grow_topics(Brokers(kafka), prefix, 3)
