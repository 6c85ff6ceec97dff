"""Rules 2 and 4: every send is awaited before the commit, a cycle has a deadline, no user work in a transaction."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from runtime_lab import (
    CALLS,
    DEADLINE,
    JOURNAL,
    LETTERS,
    RESULTS,
    Echo,
    EchoHandler,
    Lab,
    Tally,
    call,
    reply,
    until,
    until_async,
)

from odradek_runtime import committer as committer_module
from odradek_runtime import worker as worker_module
from odradek_runtime.committer import Committer
from odradek_runtime.errors import CommitFailedError, WorkerError
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.records import Output, Outputs, Tombstone
from odradek_schemas.codec import CLAIM_CHECK_BYTES
from odradek_schemas.events import ModelCallRequested, RunCountRecorded, RunCounts

pytestmark = pytest.mark.kafka


async def new_committer(lab: Lab, **settings: Any) -> Committer:
    return await Committer.fence(
        "direct", 0, Names(lab.prefix), lab.blobs, lab.settings(**settings), Metrics()
    )


class LargeOnce(Echo):
    """The answer to call 1 does not fit the topic."""

    def outputs(self, event: ModelCallRequested) -> Outputs:
        return [reply(event, "x" * 30_000 if event.id == "call-1" else "!")]


@pytest.mark.parametrize("kind", ["concurrent", "stateful"])
async def test_a_batch_that_failed_is_never_followed_by_its_inputs_commit(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Caught: a commit without awaiting the sends (the output is gone, its input is committed); endless acquisition."""
    monkeypatch.setattr(worker_module, "MOST_FAILURES", 2)
    await lab.set_largest_message(RESULTS, 10_000)

    class LargeTally(Tally):
        def outputs(self, event: ModelCallRequested, number: int) -> Outputs:
            return [self.entry(event), *LargeOnce().outputs(event)]

    processor = LargeOnce().processor() if kind == "concurrent" else LargeTally().processor()
    running = lab.start(processor)
    await lab.owning(running)
    await lab.send(CALLS, [call(0), call(1)])
    with pytest.raises(WorkerError, match=r"partition 0: 2 commits failed .*MessageSizeTooLarge"):
        await asyncio.wait_for(asyncio.shield(running.task), 60)
    position = (await lab.committed(processor.name))[0]
    assert position.offset < 2 or 1 in position.unfinished
    assert "call-1" not in await lab.answers()
    await lab.set_largest_message(RESULTS, 1_000_000)
    await lab.owning(lab.start(processor))
    await lab.answered(2)
    assert await lab.answers() == ["call-0", "call-1"]


async def test_a_cycle_that_hangs_is_given_up_at_its_deadline_and_done_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: a commit without a deadline, or one whose transaction is left open when it is given up."""
    commit, hung = AIOKafkaProducer.commit_transaction, []

    async def hang_once(self: AIOKafkaProducer) -> None:
        if not hung:
            hung.append(self)
            await asyncio.sleep(600)
        await commit(self)

    running = lab.start(Tally().processor(), cycle_timeout_seconds=1.0, transaction_timeout_seconds=600)
    await lab.owning(running)
    await asyncio.sleep(1.5)  # the first, idle commits are done
    monkeypatch.setattr(AIOKafkaProducer, "commit_transaction", hang_once)
    await lab.send(CALLS, [call(0), call(1)])
    results = await lab.answered(2)
    assert hung
    assert [seen.event.message.content for seen in results] == ["1", "2"]
    assert running.value("odradek_errors_total", kind="TimeoutError") == 1


async def test_an_unknown_error_ends_the_worker_and_commits_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: taking a bug for a failed commit, which acquires again for ever, or ignoring it."""

    async def broken(data: bytes, retention: str = "long") -> str:
        raise ValueError("a bug in the blob store")

    monkeypatch.setattr(lab.blobs, "put", broken)

    class Large(Echo):
        def outputs(self, event: ModelCallRequested) -> Outputs:
            return [reply(event, "x" * (CLAIM_CHECK_BYTES + 1))]

    running = lab.start(Large().processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0)])
    with pytest.raises(WorkerError, match="echo: a bug in the blob store"):
        await asyncio.wait_for(asyncio.shield(running.task), 60)
    assert not running.worker.alive
    assert (await lab.committed("echo"))[0].offset <= 0
    assert await lab.read(RESULTS) == []


async def test_a_handlers_exception_ends_the_worker_and_its_record_stays_unread(lab: Lab) -> None:
    """Caught: losing the record of a call that raised, or was cancelled from inside."""

    class Buggy(Echo):
        async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
            if event.id == "call-1":
                raise asyncio.CancelledError if self.name == "cancels" else KeyError("a bug")

    await lab.send(CALLS, [call(0), call(1)])
    for name, words in (("raises", "a bug"), ("cancels", "cancelled, not by its owner")):
        running = lab.start(Buggy(name=name).processor())
        with pytest.raises(WorkerError, match=words):
            await asyncio.wait_for(asyncio.shield(running.task), 60)
        position = (await lab.committed(name))[0]
        assert position.offset < 2 or position.unfinished == (1,)


async def test_outputs_of_any_number_and_size_keep_their_order(lab: Lab) -> None:
    """Caught: batches of one partition that overtake each other, or records that fall between two batches."""
    committer = await new_committer(lab)
    outputs: Outputs = [reply(call(n), "x" * 50_000) for n in range(60)]  # 3 MB: four batches
    outputs.insert(30, Output(RESULTS, reply(call(99)).event, partition=1))
    ends = await committer.commit(outputs, {CALLS: (7, "r:3")})
    await committer.close()
    seen = await lab.read(RESULTS)
    assert [s.event.call_id for s in seen if s.partition == 0] == [f"call-{n}" for n in range(60)]
    assert [s.event.call_id for s in seen if s.partition == 1] == ["call-99"]
    assert ends[RESULTS] == 60
    (position, _other) = await lab.committed("direct")
    assert (position.offset, position.restore_point) == (7, 3)


async def test_of_several_states_of_a_thing_only_the_newest_is_written(lab: Lab) -> None:
    """Caught: a compacted topic that grows by every state in between; an event stream that is thinned out too."""
    committer = await new_committer(lab)

    def count(run: str, finished: int) -> Output:
        event = RunCountRecorded(id=f"{run}-{finished}", run_id=run, counts=RunCounts(finished=finished))
        return Output("ledger", event)

    outputs: Outputs = [
        count("a", 1), reply(call(0)), count("b", 1), count("a", 2), Tombstone("ledger", "b/count"),
        count("c", 1), reply(call(0)), Tombstone("ledger", "d/count"), count("d", 9),
    ]  # fmt: skip
    await committer.commit(outputs, {})
    await committer.close()
    found = [(s.key, s.event and s.event.counts.finished) for s in await lab.read("ledger")]
    assert found == [(b"a/count", 2), (b"b/count", None), (b"c/count", 1), (b"d/count", 9)]
    assert len(await lab.read(RESULTS)) == 2


async def test_a_failed_commit_leaves_nothing_behind_and_the_committer_is_done(lab: Lab) -> None:
    """Caught: readers that wait for a failed cycle's transaction until it times out."""
    await lab.set_largest_message(RESULTS, 5_000)
    committer = await new_committer(lab, transaction_timeout_seconds=600)
    with pytest.raises(CommitFailedError, match="MessageSizeTooLarge"):
        await committer.commit([Tally().entry(call(0)), reply(call(1), "x" * 9_000)], {CALLS: (2, "")})

    async def readable() -> bool:  # the marker is written a moment after the abort is answered
        return await lab.ends(JOURNAL, "read_committed") == await lab.ends(JOURNAL)

    await until_async(readable)
    assert (await lab.ends(JOURNAL))[0] == 2  # the record of the cycle, and the marker that takes it back
    assert (await lab.committed("direct"))[0].offset == -1
    assert await lab.read(JOURNAL) == await lab.read(RESULTS) == []


async def test_work_under_way_holds_no_transaction_open(lab: Lab) -> None:
    """Caught: a transaction begun before the handler: every read_committed reader would wait for the slowest call."""

    class SlowOne(Echo):
        async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
            if event.id == "call-0":
                await self.gate.wait()

    slow = SlowOne()
    slow.gate.clear()
    running = lab.start(slow.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0), call(1), call(2)])
    await lab.answered(2)
    assert await lab.answers() == ["call-1", "call-2"]
    assert await lab.ends(RESULTS, "read_committed") == await lab.ends(RESULTS)
    assert (await lab.committed("echo"))[0].unfinished == (0,)
    slow.gate.set()
    await lab.answered(3)


async def test_a_dead_workers_open_transaction_blocks_readers_no_longer_than_its_timeout(lab: Lab) -> None:
    """Caught: a producer without transaction_timeout_ms (the default is a minute)."""
    committer = await new_committer(lab, transaction_timeout_seconds=3.0)
    producer = committer._producer
    await producer.begin_transaction()
    await producer.send_and_wait(lab.prefix + LETTERS, b"{}", b"k", 0)
    await producer.client.close()  # dead: no abort

    async def readable() -> bool:
        return await lab.ends(LETTERS, "read_committed") == await lab.ends(LETTERS)

    assert not await readable()
    await until_async(readable, 30)
    assert await lab.read(LETTERS) == []
    await committer.close()


async def test_a_broker_that_is_silent_costs_the_deadline_and_no_more(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: a cycle that has failed and then waits to abort, while its broker is long back under new connections."""
    monkeypatch.setattr(committer_module, "STOP_SECONDS", 1000.0)
    committer = await new_committer(lab, cycle_timeout_seconds=1)
    await committer.commit([reply(call(0))], {CALLS: (1, "")})
    for connection in committer._producer.client._conns.values():
        connection._writer.transport.pause_reading()
    with pytest.raises(CommitFailedError):
        await asyncio.wait_for(committer.commit([reply(call(1))], {CALLS: (2, "")}), DEADLINE)
    again = await new_committer(lab)
    await again.commit([reply(call(1))], {CALLS: (2, "")})
    await again.close()
    assert await lab.answers() == ["call-0", "call-1"]


async def test_an_idle_worker_writes_nothing(lab: Lab) -> None:
    """Caught: two workers whose markers wake each other for ever."""
    running = lab.start(Tally().processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    await asyncio.sleep(1.5)
    commits, ends = running.value("odradek_transactions_total"), await lab.ends(RESULTS)
    await asyncio.sleep(2.5)
    assert (running.value("odradek_transactions_total"), await lab.ends(RESULTS)) == (commits, ends)
    await until(lambda: not running.task.done())
