"""Rule 1: fence, mark the end, read the commits, restore to the mark, seek and publish without an await between."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.errors import ProducerFenced
from aiokafka.structs import TopicPartition
from runtime_lab import CALLS, JOURNAL, RESULTS, Echo, Lab, Tally, call, until, until_async

from odradek_runtime.brokers import Brokers
from odradek_runtime.committer import Committer
from odradek_runtime.errors import NotOwnedError, WorkerError
from odradek_runtime.log_reader import log_bounds
from odradek_runtime.names import Names
from odradek_runtime.progress import LOOK_BACK, positions_record, read_positions
from odradek_schemas.codec import encode
from odradek_schemas.events import HarnessStuck
from odradek_schemas.topics import positions_topic

pytestmark = pytest.mark.kafka


def entry(number: int) -> HarnessStuck:
    return HarnessStuck(id=f"call-{number}", run_id="run", rollout_id=f"run/{number}/0", seconds=0)


async def write_in_transaction(lab: Lab, producer: Any, topic: str, number: int, *, end: bool = True) -> None:
    record = encode(entry(number), "test")
    await producer.begin_transaction()
    await producer.send_and_wait(
        lab.prefix + topic, record.value, record.key, 0, headers=list(record.headers)
    )
    if end:
        await producer.commit_transaction()


async def send_position(lab: Lab, producer: AIOKafkaProducer, offset: int) -> None:
    """The position of a tally in partition 0, in the transaction that is open."""
    record = positions_record("tally", 0, {CALLS: (offset, "r:0")})
    topic = lab.prefix + positions_topic("tally")
    await producer.send_and_wait(topic, record.value, record.key, 0, headers=list(record.headers))


async def test_an_owner_that_is_late_can_not_commit_after_the_fence(lab: Lab) -> None:
    """Caught: reading commits before the producer is started (or with another transactional id)."""
    await lab.send(CALLS, [call(0), call(1)])
    async with lab.transactional(lab.transactional_id("tally", 0), timeout_ms=600_000) as late:
        await write_in_transaction(lab, late, JOURNAL, 0, end=False)
        await send_position(lab, late, 1)
        tally = Tally()
        running = lab.start(tally.processor())
        await lab.owning(running)
        with pytest.raises(ProducerFenced):
            await late.commit_transaction()
    results = await lab.answered(2)
    assert [seen.event.message.content for seen in results] == ["1", "2"]
    assert [seen.event.id for seen in await lab.read(JOURNAL)] == ["call-0", "call-1"]


async def test_the_end_and_the_commits_are_read_behind_the_fence(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: taking the mark or the commits before the fence: the earlier owner's last cycle is missed, or done twice."""
    await lab.send(CALLS, [call(0), call(1)])
    fence = Committer.fence

    async def commit_just_before_the_fence(worker: str, partition: int, *more: Any) -> Committer:
        if partition == 0:
            async with lab.transactional(lab.transactional_id("tally", 0)) as late:
                await write_in_transaction(lab, late, JOURNAL, 0, end=False)
                await send_position(lab, late, 1)
                await late.commit_transaction()
        return await fence(worker, partition, *more)

    monkeypatch.setattr(Committer, "fence", commit_just_before_the_fence)
    tally = Tally()
    running = lab.start(tally.processor())
    await lab.owning(running)
    (seen,) = await lab.answered(1)
    assert (seen.event.call_id, seen.event.message.content) == ("call-1", "2")


async def test_records_that_arrive_before_the_owner_is_published_wait(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: dropping what is fetched before the owner is there (no pause, no seek at the end)."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    fence = Committer.fence

    async def slow_fence(worker: str, partition: int, *more: Any) -> Committer:
        begun.set()
        await asyncio.wait_for(go_on.wait(), 30)
        return await fence(worker, partition, *more)

    running = lab.start((echo := Echo()).processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    await running.stop()  # now there is a committed offset, from which aiokafka fetches by itself
    monkeypatch.setattr(Committer, "fence", slow_fence)
    again = lab.start((echo := Echo()).processor())
    await asyncio.wait_for(begun.wait(), 30)
    await lab.send(CALLS, [call(n) for n in range(1, 20)])
    await asyncio.sleep(0.5)  # long enough to be fetched
    assert echo.begun == []
    go_on.set()
    await lab.owning(again)
    await lab.answered(20)
    assert await lab.answers() == sorted(f"call-{n}" for n in range(20))


async def test_a_changelog_that_ends_with_markers_is_restored_to_its_end(lab: Lab) -> None:
    """Caught: waiting for the last record's offset + 1 to be the end, which markers make wait for ever."""
    async with lab.transactional("writer" + lab.prefix) as writer:
        for number in range(3):
            await write_in_transaction(lab, writer, JOURNAL, number)
    ends = await lab.ends(JOURNAL)
    last = max(seen.offset for seen in await lab.read(JOURNAL))
    assert ends[0] == last + 2  # a marker is last
    tally = Tally()
    running = lab.start(tally.processor())
    await lab.owning(running)
    assert [fold.seen for fold in tally.folds if fold.context.partition == 0] == [
        ["call-0", "call-1", "call-2"]
    ]


async def test_aborted_transactions_in_a_changelog_are_not_restored(lab: Lab) -> None:
    """Caught: restoring uncommitted, or a restore that does not end behind an aborted transaction."""
    async with lab.transactional("writer" + lab.prefix) as writer:
        await write_in_transaction(lab, writer, JOURNAL, 0)
        await write_in_transaction(lab, writer, JOURNAL, 1, end=False)
        await writer.abort_transaction()
        await write_in_transaction(lab, writer, JOURNAL, 2)
        await write_in_transaction(lab, writer, JOURNAL, 3, end=False)
        await writer.abort_transaction()
    tally = Tally()
    await lab.owning(lab.start(tally.processor()))
    assert [fold.seen for fold in tally.folds if fold.context.partition == 0] == [["call-0", "call-2"]]


async def test_an_open_transaction_in_the_changelog_is_waited_for(lab: Lab) -> None:
    """Caught: taking the last stable offset for the end: what is committed after it is never restored."""
    async with lab.transactional("writer" + lab.prefix) as writer:
        await write_in_transaction(lab, writer, JOURNAL, 0, end=False)
        tally = Tally()
        running = lab.start(tally.processor())
        await until(lambda: running.numbers == {1})
        await asyncio.sleep(0.3)
        assert running.numbers == {1}
        await writer.commit_transaction()
        await lab.owning(running)
    assert [fold.seen for fold in tally.folds if fold.context.partition == 0] == [["call-0"]]


async def test_restores_from_the_restore_point_that_the_last_commit_told(lab: Lab) -> None:
    """Caught: reading the changelog from its beginning, or from where it ended."""
    tally = Tally()
    running = lab.start(tally.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    tally.restore_point = (await lab.ends(JOURNAL))[0]
    await lab.send(CALLS, [call(1), call(2)])
    await lab.answered(3)
    await running.stop()
    assert (await lab.committed("tally"))[0].restore_point == tally.restore_point
    again = Tally()
    await lab.owning(lab.start(again.processor()))
    assert [fold.seen for fold in again.folds if fold.context.partition == 0] == [["call-1", "call-2"]]


async def test_a_group_that_was_forgotten_repeats_nothing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: starting from the group's offsets, which a broker may lose, or answer from before it has read them all."""
    first = lab.start(Echo().processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(n) for n in range(5)])
    await lab.answered(5)
    await first.stop()
    monkeypatch.setattr(Names, "group", lambda self, worker: f"{self.prefix}{worker}-forgotten")
    second = lab.start(Echo().processor())
    await lab.owning(second)
    await lab.send(CALLS, [call(5)])
    await lab.answered(6)
    assert await lab.answers() == [f"call-{n}" for n in range(6)]


async def test_the_newest_positions_are_found_behind_many_aborted_ones(lab: Lab) -> None:
    """Caught: looking for them only near the end of the log."""
    topic = lab.prefix + positions_topic("tally")
    async with lab.transactional("writer" + lab.prefix) as writer:
        await writer.begin_transaction()
        await send_position(lab, writer, 7)
        await writer.commit_transaction()
        for _ in range(2 * LOOK_BACK):
            await writer.begin_transaction()
            await send_position(lab, writer, 9)
            await writer.abort_transaction()
    kept = TopicPartition(topic, 0)
    bounds = await log_bounds(Brokers(lab.bootstrap), [kept])
    assert await read_positions(Brokers(lab.bootstrap), kept, *bounds[kept]) == {CALLS: (7, "r:0")}


async def test_what_is_no_record_of_positions_is_passed_over(lab: Lab) -> None:
    """Caught: a worker that can't start, or starts anew, because somebody else wrote to its topic."""
    first = lab.start(Echo().processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    await first.stop()
    for value in (b"{", None, b'{"worker": "echo"}'):
        await lab.send_raw(positions_topic("echo"), b"stranger", value)
    second = lab.start(Echo().processor())
    await lab.owning(second)
    await lab.send(CALLS, [call(1)])
    await lab.answered(2)
    assert await lab.answers() == ["call-0", "call-1"]


async def test_the_group_is_told_how_far_its_numbers_are(lab: Lab) -> None:
    """Caught: tools that read the group's offsets see nothing, or old ones after a clean stop."""
    running = lab.start(Echo().processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(5)])
    await lab.answered(5)

    async def told() -> bool:
        return (await lab.told("echo"))[0].offset >= 5

    await until_async(told)
    await lab.send(CALLS, [call(5)])
    await lab.answered(6)
    await running.stop()
    assert await lab.told("echo") == await lab.committed("echo")


async def test_a_group_that_was_forgotten_is_told_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: a deployment at rest in which no tool sees how far anybody is, until the next record comes."""
    first = lab.start(Tally().processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    await first.stop()
    monkeypatch.setattr(Names, "group", lambda self, worker: f"{self.prefix}forgotten")
    await lab.owning(lab.start(Tally().processor()))

    async def told() -> bool:
        return await lab.told("forgotten") == await lab.committed("tally")

    await until_async(told)


async def test_unread_records_that_were_deleted_stop_the_worker_with_words(lab: Lab) -> None:
    """Caught: going on from where the log now begins, as if nothing had been lost."""
    first = lab.start(Echo().processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    await first.stop()
    await lab.send(CALLS, [call(1), call(2)])
    admin = AIOKafkaAdminClient(bootstrap_servers=lab.bootstrap)
    await admin.start()
    await admin.delete_records({TopicPartition(lab.prefix + CALLS, 0): RecordsToDelete(before_offset=2)})
    await admin.close()
    second = lab.start(Echo().processor())
    with pytest.raises(
        WorkerError, match=r"model-calls\[0\]: records 1 to 1 were deleted before echo had read"
    ):
        await asyncio.wait_for(second.task, 30)
    assert not second.worker.alive
    assert [seen.event.call_id for seen in await lab.read(RESULTS)] == ["call-0"]


async def test_a_number_that_may_have_gone_to_another_is_not_fenced(lab: Lab) -> None:
    """Caught: a fence on the strength of an old assignment, which hits whoever owns the number now."""
    running = lab.start(Tally().processor())
    await lab.owning(running)
    member = running.worker._membership
    generation = member.generation
    assert member.owns(0, generation)
    assert not member.owns(0, generation - 1)
    assert not member.owns(2, generation)
    coordinator = member._consumer._coordinator
    coordinator.generation += 1  # a rebalance is under way: the numbers are those of before
    assert not member.owns(0, generation)
    assert not member.owns(0, generation + 1)
    coordinator.generation -= 1

    async def restore(records: object) -> None:
        raise AssertionError("nothing is to be restored")

    with pytest.raises(NotOwnedError):
        await running.worker._acquisition.acquire(0, lambda: False, restore)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    assert running.worker._membership is member  # it was not fenced
