"""A worker that is told to stop finishes what is in flight, commits it, and leaves the rest as it found it."""

import asyncio

import pytest
from aiokafka.errors import KafkaError
from runtime_lab import CALLS, RESULTS, Echo, EchoHandler, Lab, Tally, call, reply, until

from odradek_runtime.membership import Membership
from odradek_schemas.events import ModelCallCompleted, ModelCallRequested

pytestmark = pytest.mark.kafka


async def test_what_is_in_flight_is_finished_and_what_waits_is_left(lab: Lab) -> None:
    """Caught: cancelling at once; committing past records that were fetched and not begun."""
    echo = Echo(max_in_flight=2)
    echo.gate.clear()
    running = lab.start(echo.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(6)])
    await until(lambda: echo.running == 2)
    assert running.worker.ready
    stopping = asyncio.ensure_future(running.stop())
    await asyncio.sleep(0.3)
    assert not running.worker.ready
    echo.gate.set()
    await stopping
    assert echo.ended == ["call-0", "call-1"]
    assert await lab.answers() == ["call-0", "call-1"]
    position = (await lab.committed("echo"))[0]
    assert (position.offset, position.unfinished) == (2, ())
    await lab.owning(lab.start(Echo().processor()))
    await lab.answered(6)
    assert await lab.answers() == [f"call-{n}" for n in range(6)]


async def test_what_does_not_end_in_time_is_left_to_the_next_owner(lab: Lab) -> None:
    """Caught: a drain without a deadline; a call that is cancelled and counted as done."""

    class StuckOne(Echo):
        async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
            if event.id == "call-1":
                await self.gate.wait()

    stuck = StuckOne()
    stuck.gate.clear()
    running = lab.start(stuck.processor(), drain_timeout_seconds=0.5)
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(4)])
    await lab.answered(3)
    await running.stop()
    assert stuck.cancelled == ["call-1"]
    position = (await lab.committed("echo"))[0]
    assert (position.offset, position.unfinished) == (4, (1,))
    again = Echo()
    await lab.owning(lab.start(again.processor()))
    await lab.answered(4)
    assert again.begun == ["call-1"]


async def test_a_long_drain_does_not_pass_over_what_waits_on_another_input(lab: Lab) -> None:
    """Caught: taking records that were fetched and given up for markers: they would never be read again."""
    gates = {CALLS: asyncio.Event()}

    class TwoInputs(Echo):
        async def work(self, event: ModelCallRequested | ModelCallCompleted, handler: EchoHandler) -> None:  # type: ignore[override]
            if isinstance(event, ModelCallRequested):
                await gates[CALLS].wait()

        def outputs(self, event: ModelCallRequested | ModelCallCompleted) -> list[object]:  # type: ignore[override]
            return []

    class AnyHandler(EchoHandler):
        async def handle(self, event: object, record: object) -> list[object]:  # type: ignore[override]
            self.echo.begun.append(event.id)  # type: ignore[attr-defined]
            await self.echo.work(event, self)  # type: ignore[arg-type]
            return []

    echo = TwoInputs(max_in_flight=1, inputs=(CALLS, RESULTS))
    echo._create = lambda context: AnyHandler(echo, context.partition)  # type: ignore[method-assign]
    running = lab.start(echo.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(0)])
    await until(lambda: echo.begun == ["call-0"])
    await lab.send(RESULTS, [reply(call(9)).event])
    await until(lambda: running.worker._owners[0].backlog() == {CALLS: 1, RESULTS: 1})
    stopping = asyncio.ensure_future(running.stop())
    await asyncio.sleep(2.5)  # longer than an owner waits before it passes markers
    gates[CALLS].set()
    await stopping
    assert (await lab.committed("echo", RESULTS))[0].offset <= 0
    assert (await lab.committed("echo", CALLS))[0].offset == 1


async def test_a_stateful_worker_commits_the_cycle_under_way(lab: Lab) -> None:
    """Caught: a stop that loses what was taken in, or repeats it."""
    tally = Tally(max_cycle_records=3)
    running = lab.start(tally.processor())
    await lab.owning(running)
    sending = asyncio.ensure_future(lab.send(CALLS, [call(n) for n in range(40)]))
    await lab.answered(3)
    await running.stop()
    await sending
    done = len(await lab.read(RESULTS))
    assert (await lab.committed("tally"))[0].offset == done
    assert all(fold.closed for fold in tally.folds)
    await lab.owning(lab.start(Tally().processor()))
    results = await lab.answered(40)
    assert [int(seen.event.message.content) for seen in results] == list(range(1, 41))


async def test_a_worker_that_is_stopped_while_it_acquires_leaves_nothing_running(lab: Lab) -> None:
    """Caught: acquisitions that go on, or begin anew, after the worker has ended."""
    before = asyncio.all_tasks()
    for delay in (0.0, 0.1, 0.3, 0.6):
        tally = Tally()
        running = lab.start(tally.processor())
        await asyncio.sleep(delay)
        await running.stop()
        assert all(fold.closed for fold in tally.folds)
    await until(lambda: not {t for t in asyncio.all_tasks() - before if "acquire" in repr(t.get_coro())})


async def test_an_assignment_that_comes_while_a_worker_leaves_is_nobodys(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: partitions that a rebalance brings at the last moment, acquired and never closed."""
    tally, leave = Tally(), Membership.leave

    async def leave_late(self: Membership, *, rejoining: bool = False) -> None:
        self.on_partitions_assigned(self._consumer.assignment())
        await asyncio.sleep(1)
        await leave(self, rejoining=rejoining)

    monkeypatch.setattr(Membership, "leave", leave_late)
    running = lab.start(tally.processor())
    await lab.owning(running)
    await running.stop()
    assert tally.folds
    assert all(fold.closed for fold in tally.folds)


async def test_a_worker_whose_fetching_fails_ends_and_leaves_nothing_running(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: acquisitions that are cancelled at the end and begin anew, with nobody to own what they acquire."""
    tally = Tally()

    async def fail(self: Membership, timeout_seconds: float) -> None:
        await until(lambda: len(tally.folds) == 2)
        raise KafkaError("no more")

    monkeypatch.setattr(Membership, "poll", fail)
    running = lab.start(tally.processor())
    with pytest.raises(KafkaError, match="no more"):
        await asyncio.wait_for(asyncio.shield(running.task), 60)
    await asyncio.sleep(1)
    assert len(tally.folds) == 2
    assert all(fold.closed for fold in tally.folds)
