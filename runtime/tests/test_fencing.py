"""Rule 3: fenced is not the same as not owning. Leave, join again, acquire again; lose nothing, do nothing twice."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from runtime_lab import CALLS, Echo, Lab, Running, Tally, call, until

from odradek_runtime import worker as worker_module
from odradek_runtime.committer import Committer
from odradek_runtime.errors import WorkerError

pytestmark = pytest.mark.kafka


def generation(running: Running) -> int:
    return running.worker._membership.generation


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize("kind", ["stateful", "concurrent"])
async def test_a_live_owner_that_is_fenced_joins_again_and_goes_on(lab: Lab, kind: str, static: bool) -> None:
    """Caught: dropping the number for good; acquiring it again on the strength of an old assignment."""
    processor = Tally().processor() if kind == "stateful" else Echo().processor()
    running = lab.start(processor, worker_id="w-0" if static else None)
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(5)])
    await lab.answered(5)
    member, before = running.worker._membership, generation(running)
    async with lab.transactional(lab.transactional_id(processor.name, 0)):
        await lab.send(CALLS, [call(n) for n in range(5, 10)])
        await lab.send(CALLS, [call(n) for n in range(10, 15)], partition=1)
        results = await lab.answered(15)
    assert sorted(seen.event.call_id for seen in results) == sorted(f"call-{n}" for n in range(15))
    if kind == "stateful":
        numbers = [int(seen.event.message.content) for seen in results if seen.partition == 0]
        assert numbers == list(range(1, 11))
    assert running.worker._membership is not member
    if not static:
        assert generation(running) > before
    await lab.owning(running)


async def test_a_transaction_over_its_timeout_is_found_out_and_its_work_done_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: taking the fence of a timed-out transaction for a lost number, or the results for committed."""
    commit, slept = AIOKafkaProducer.commit_transaction, []

    async def sleep_once(self: AIOKafkaProducer) -> None:
        if not slept:
            slept.append(self)
            await asyncio.sleep(4)  # the broker looks for timed-out transactions once a second
        await commit(self)

    running = lab.start(Tally().processor(), transaction_timeout_seconds=1.0, cycle_timeout_seconds=20.0)
    await lab.owning(running)
    await asyncio.sleep(1.5)
    monkeypatch.setattr(AIOKafkaProducer, "commit_transaction", sleep_once)
    await lab.send(CALLS, [call(0), call(1)])
    results = await lab.answered(2)
    assert slept
    assert [seen.event.message.content for seen in results] == ["1", "2"]


async def test_fenced_again_and_again_a_worker_ends_and_names_the_likely_cause(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: two workers of one identity that fence each other for ever."""
    monkeypatch.setattr(worker_module, "MOST_FAILURES", 2)
    echo = Echo()
    running = lab.start(echo.processor(), worker_id="twin")
    await lab.owning(running)
    for number in range(3):
        async with lab.transactional(lab.transactional_id("echo", 0)):
            await lab.send(CALLS, [call(number)])
            joined = running.worker._membership
            await until(lambda joined=joined: running.worker._membership is not joined or running.task.done())
        if not running.task.done():
            await lab.owning(running)
    with pytest.raises(WorkerError, match=r"fenced more than 2 times .*ODRADEK_WORKER_ID \(twin\)"):
        await asyncio.wait_for(asyncio.shield(running.task), 60)


async def test_a_number_that_is_fenced_while_it_is_acquired_is_acquired_in_the_end(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: taking what aiokafka says of a fenced producer afterwards (`IllegalOperation`) for a bug: the worker ends."""
    fence, send, usurped = Committer.fence, AIOKafkaProducer.send_batch, []

    async def slow_send(self: AIOKafkaProducer, *batch: Any, **more: Any) -> Any:
        sent = await send(self, *batch, **more)
        await asyncio.sleep(0.3)  # the fence is found out between two sends
        return sent

    async def usurp_once(worker: str, partition: int, *more: Any) -> Committer:
        committer = await fence(worker, partition, *more)
        if partition == 0 and not usurped:
            usurped.append(partition)
            async with lab.transactional(lab.transactional_id(worker, partition)):
                pass
        return committer

    monkeypatch.setattr(Committer, "fence", usurp_once)
    monkeypatch.setattr(AIOKafkaProducer, "send_batch", slow_send)
    running = lab.start(Tally().processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0), call(1)])
    results = await lab.answered(2)
    assert [seen.event.message.content for seen in results] == ["1", "2"]
