"""Rule 5: rebalances are cheap. Kept numbers keep their state and their work; nothing is lost or done twice."""

import asyncio

import pytest
from runtime_lab import CALLS, Echo, Lab, Tally, call, until

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("kind", ["concurrent", "stateful"])
async def test_workers_come_and_go_in_mid_stream(lab: Lab, kind: str) -> None:
    """Caught: a number that two work on, records dropped or repeated at a hand-over."""
    total, enough = 0, asyncio.Event()

    def processor() -> object:
        return Echo().processor() if kind == "concurrent" else Tally().processor()

    async def stream() -> None:
        nonlocal total
        while not enough.is_set():
            await lab.send(CALLS, [call(total)], partition=total % 2)
            total += 1
            await asyncio.sleep(0.002)

    first = lab.start(processor())  # type: ignore[arg-type]
    await lab.owning(first)
    sending = asyncio.ensure_future(stream())
    second = lab.start(processor())  # type: ignore[arg-type]
    await until(lambda: len(first.numbers) == len(second.numbers) == 1)
    await asyncio.sleep(0.2)
    await first.stop()
    await until(lambda: second.numbers == {0, 1})
    third = lab.start(processor())  # type: ignore[arg-type]
    await lab.owning(second, third)
    enough.set()
    await sending
    results = await lab.answered(total)
    assert sorted(seen.event.call_id for seen in results) == sorted(f"call-{n}" for n in range(total))
    if kind == "stateful":
        for partition in (0, 1):
            numbers = [int(seen.event.message.content) for seen in results if seen.partition == partition]
            assert numbers == list(range(1, len(numbers) + 1))


async def test_kept_numbers_keep_their_handler_and_their_calls_under_way(lab: Lab) -> None:
    """Caught: closing every owner at a rebalance: calls that a model is answering would be paid twice."""
    echo = Echo()
    echo.gate.clear()
    first = lab.start(echo.processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(0)], partition=0)
    await lab.send(CALLS, [call(1)], partition=1)
    await until(lambda: len(echo.begun) == 2)
    other = Echo()
    second = lab.start(other.processor())
    await until(lambda: len(first.numbers) == len(second.numbers) == 1)
    (kept,) = first.numbers
    await until(lambda: echo.cancelled == [f"call-{1 - kept}"] and other.ended == [f"call-{1 - kept}"])
    assert [handler.partition for handler in echo.handlers if not handler.closed] == [kept]
    assert len(echo.handlers) == 2
    echo.gate.set()
    await lab.answered(2)
    assert await lab.answers() == ["call-0", "call-1"]
    assert echo.begun.count(f"call-{kept}") == 1


async def test_a_kept_fold_lives_on_and_a_number_that_comes_back_is_restored(lab: Lab) -> None:
    """Caught: rebuilding state that nobody else can have changed; keeping state that somebody else has."""
    tally = Tally()
    first = lab.start(tally.processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(0)], partition=0)
    await lab.send(CALLS, [call(1)], partition=1)
    await lab.answered(2)
    second = lab.start(Tally().processor())
    await lab.owning(first, second)
    await until(lambda: len(first.numbers) == 1)
    (kept,) = first.numbers
    lost = 1 - kept
    await lab.send(CALLS, [call(2)], partition=lost)
    await lab.answered(3)
    await second.stop()
    await lab.owning(first)
    folds = [fold for fold in tally.folds if fold.context.partition == kept]
    assert len(folds) == 1
    assert not folds[0].closed
    gone, back = (fold for fold in tally.folds if fold.context.partition == lost)
    assert gone.closed
    assert back.seen == [f"call-{lost}", "call-2"]
    await lab.send(CALLS, [call(3)], partition=kept)
    await lab.send(CALLS, [call(4)], partition=lost)
    results = {seen.event.call_id: seen.event.message.content for seen in await lab.answered(5)}
    assert (results["call-3"], results["call-4"]) == ("2", "3")


async def test_what_a_worker_tells_of_a_lost_number_is_forgotten(lab: Lab) -> None:
    """Caught: a backlog that is counted by the old owner for ever, and scales a pool that has nothing to do."""
    echo = Echo(max_in_flight=1)
    echo.gate.clear()
    first = lab.start(echo.processor())
    await lab.owning(first)
    for partition in (0, 1):
        await lab.send(CALLS, [call(10 * partition + n) for n in range(4)], partition=partition)

    def backlog(partition: int) -> float | None:
        return first.value("odradek_backlog_records", topic=CALLS, partition=str(partition))

    await until(lambda: backlog(0) == backlog(1) == 4)
    second = lab.start(Echo().processor())
    await until(lambda: len(first.numbers) == len(second.numbers) == 1)
    (kept,) = first.numbers
    await until(lambda: backlog(1 - kept) is None)
    assert backlog(kept) == 4
    echo.gate.set()
    await lab.answered(8)
    await until(lambda: backlog(kept) == 0)


async def test_more_workers_than_numbers_leave_the_rest_ready_and_idle(lab: Lab) -> None:
    """Caught: a worker without a number that never becomes ready, or takes half of one."""
    workers = [lab.start(Echo().processor()) for _ in range(3)]
    await lab.owning(*workers)
    await lab.send(CALLS, [call(n) for n in range(4)])
    await lab.answered(4)
    assert sorted(len(worker.numbers) for worker in workers) == [0, 1, 1]
