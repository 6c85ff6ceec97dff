"""Rules 8 and 10: what is early is kept behind a held-back commit; everything is bounded; idle means no lag."""

import asyncio
from collections.abc import Callable

import pytest
from runtime_lab import (
    CALLS,
    RESULTS,
    Echo,
    Lab,
    Running,
    Seen,
    Tally,
    TallyFold,
    call,
    reply,
    until,
    until_async,
)

from odradek_runtime import stalls, stateful
from odradek_runtime.folds import Fold, FoldContext, StatefulProcessor
from odradek_runtime.metrics import Metrics
from odradek_runtime.records import Outputs, Record
from odradek_schemas.events import Event, ModelCallCompleted

pytestmark = pytest.mark.kafka


class JoinFold(TallyFold):
    """Takes results only once the call that they answer has come."""

    def accept(self, event: Event, record: Record | None) -> Outputs:
        if isinstance(event, ModelCallCompleted):
            assert event.call_id in self.seen
            self.records.append(record)
            return []
        return super().accept(event, record)

    def wants(self, topic: str) -> bool:
        return topic == CALLS or bool(self.seen)


class Join(Tally):
    def processor(self) -> StatefulProcessor:
        def create(context: FoldContext) -> Fold:
            fold = JoinFold(self, context)
            self.folds.append(fold)
            return fold

        return StatefulProcessor("join", (CALLS, RESULTS), "journal", create, anchor=CALLS)

    def outputs(self, event: object, number: int) -> Outputs:
        return [self.entry(event)]  # type: ignore[arg-type]


async def test_results_that_arrive_early_are_kept_even_through_a_restart(lab: Lab) -> None:
    """Caught: committing what was fetched instead of what was taken in: early results are gone after a restart."""
    early = [reply(call(0)).event.model_copy(update={"id": f"early-{n}"}) for n in range(50)]
    await lab.send(RESULTS, early)
    first = lab.start((join := Join()).processor())
    await lab.owning(first)
    await asyncio.sleep(1.5)  # fetched, and an idle commit may have been made
    assert all(fold.records == [] for fold in join.folds)
    await first.stop()
    assert (await lab.committed("join", RESULTS))[0].offset <= 0
    second = lab.start((join := Join()).processor())
    await lab.owning(second)
    await lab.send(CALLS, [call(0)])
    (fold,) = [fold for fold in join.folds if fold.context.partition == 0]
    await until(lambda: len(fold.records) == 51)
    assert [record.topic for record in fold.records if record] == [CALLS, *[RESULTS] * 50]

    async def committed() -> bool:
        return (await lab.committed("join", RESULTS))[0].offset == 50

    await until_async(committed)


async def test_no_more_than_the_bound_are_in_flight(lab: Lab) -> None:
    """Caught: handing out whatever was fetched."""
    echo = Echo(max_in_flight=3)
    echo.gate.clear()
    running = lab.start(echo.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(20)])
    await until(lambda: echo.running == 3)
    await asyncio.sleep(0.3)
    assert echo.running == 3
    assert running.value("odradek_in_flight_records", partition="0") == 3
    echo.gate.set()
    await lab.answered(20)
    assert echo.most_running == 3


async def test_a_full_worker_stops_fetching_and_a_free_one_goes_on(lab: Lab) -> None:
    """Caught: an inbox without a bound, or an input that is paused and never resumed."""
    echo = Echo(max_in_flight=2)
    echo.gate.clear()
    running = lab.start(echo.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(10)])
    await until(lambda: _paused(running, CALLS))
    fetched = running.worker._owners[0].positions()[CALLS]
    await lab.send(CALLS, [call(n) for n in range(10, 40)])
    await asyncio.sleep(0.5)
    assert running.worker._owners[0].positions()[CALLS] == fetched
    echo.gate.set()
    await lab.answered(40)
    await until(lambda: not _paused(running, CALLS))


async def test_a_fold_that_wants_no_more_is_fed_no_more_until_it_does(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: feeding a fold past its bound; committing what was only fetched; a pause that outlives its reason."""
    monkeypatch.setattr(stateful, "INBOX_RECORDS", 10)
    await lab.send(CALLS, [call(n) for n in range(25)])
    tally = Tally(most=5, max_cycle_records=7)
    running = lab.start(tally.processor())
    await lab.owning(running)
    await lab.answered(5)
    await until(lambda: _paused(running, CALLS))
    await asyncio.sleep(1.5)  # longer than an owner waits before it passes markers
    assert [len(fold.seen) for fold in tally.folds if fold.context.partition == 0] == [5]
    assert (await lab.committed("tally"))[0].offset == 5
    await until(lambda: _backlog(running, 0) == 20)
    tally.most = None
    results = await lab.answered(25)
    assert [seen.event.message.content for seen in results] == [str(n) for n in range(1, 26)]
    await until(lambda: not _paused(running, CALLS))


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_an_idle_worker_has_no_lag_behind_markers(lab: Lab, shape: str) -> None:
    """Caught: committing the last record's offset + 1, behind which the marker of the writer's transaction stays."""
    running = lab.start(Echo().processor() if shape == "concurrent" else Tally().processor())
    name = running.worker._processor.name
    await lab.owning(running)
    async with lab.transactional("writer" + lab.prefix) as writer:
        for partition in (0, 1):
            await writer.begin_transaction()
            await _send(writer, lab, call(partition), partition)
            await writer.commit_transaction()
        await writer.begin_transaction()
        await _send(writer, lab, call(2), 0)
        await writer.abort_transaction()
    await lab.answered(2)
    ends = await lab.ends(CALLS)

    async def no_lag() -> bool:
        return [position.offset for position in await lab.committed(name)] == ends

    assert ends == [4, 2]
    await until_async(no_lag)
    await until(lambda: _backlog(running, 0) == _backlog(running, 1) == 0)
    assert await lab.answers() == ["call-0", "call-1"]


async def test_the_backlog_counts_what_waits_wherever_it_waits(lab: Lab) -> None:
    """Caught: a backlog that leaves out what is in flight, in memory, or still on the log."""
    echo = Echo(max_in_flight=2)
    echo.gate.clear()
    running = lab.start(echo.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(n) for n in range(12)])
    await until(lambda: _backlog(running, 0) == 12)
    await lab.send(CALLS, [call(n) for n in range(12, 30)])
    await until(lambda: _backlog(running, 0) == 30)
    echo.gate.set()
    await until(lambda: _backlog(running, 0) == 0)


async def test_records_of_one_rollout_are_handled_in_order_and_others_meanwhile(lab: Lab) -> None:
    """Caught: two actions of one session at a time; a slow rollout that holds up all others."""
    running_by_rollout: dict[str, int] = {}

    class Ordered(Echo):
        async def work(self, event: object, handler: object) -> None:
            rollout = event.rollout_id  # type: ignore[attr-defined]
            running_by_rollout[rollout] = running_by_rollout.get(rollout, 0) + 1
            assert running_by_rollout[rollout] == 1
            if rollout == "slow":
                await self.gate.wait()
            await asyncio.sleep(0)
            running_by_rollout[rollout] -= 1

    echo = Ordered(ordered=True)
    echo.gate.clear()
    running = lab.start(echo.processor())
    await lab.owning(running)
    await lab.send(CALLS, [call(n, "slow" if n % 3 == 0 else f"r{n % 3}") for n in range(30)])
    await lab.answered(20)
    assert echo.running == 1
    assert running.value("odradek_in_flight_records", partition="0") == 10  # nine wait for their turn
    echo.gate.set()
    results = await lab.answered(30)
    by_rollout: dict[str, list[int]] = {}
    for seen in results:
        by_rollout.setdefault(seen.event.rollout_id, []).append(int(seen.event.call_id.removeprefix("call-")))
    assert all(numbers == sorted(numbers) for numbers in by_rollout.values())


def test_a_partition_where_work_waits_and_nothing_moves_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caught: a stall that nobody is told of; a quiet or busy partition that is called stalled."""

    class Owner:
        done = 0
        waiting = 1

        def commits(self) -> int:
            return self.done

        def backlog(self) -> dict[str, int]:
            return {CALLS: self.waiting}

    clock = [0.0]
    monkeypatch.setattr(stalls.time, "monotonic", lambda: clock[0])
    metrics, owner = Metrics(), Owner()
    watch = stalls.StallWatch(metrics)
    look: Callable[[], bool] = lambda: watch.look(3, owner)  # type: ignore[arg-type]  # noqa: E731
    assert not look()
    clock[0] = stalls.STALL_SECONDS + 1
    assert look()
    assert metrics.registry.get_sample_value("odradek_stalled_partition", {"partition": "3"}) == 1
    owner.done = 1
    assert not look()
    owner.waiting = 0
    clock[0] *= 3
    assert not look()
    assert metrics.registry.get_sample_value("odradek_stalled_partition", {"partition": "3"}) == 0


def _paused(running: Running, topic: str, number: int = 0) -> bool:
    consumer = running.worker._membership._consumer
    return any(tp.topic.endswith(topic) and tp.partition == number for tp in consumer.paused())


def _backlog(running: Running, number: int) -> float | None:
    return running.value("odradek_backlog_records", topic=CALLS, partition=str(number))


async def _send(writer: object, lab: Lab, event: Event, partition: int) -> Seen | None:
    from odradek_schemas.codec import encode

    record = encode(event, "test")
    await writer.send_and_wait(  # type: ignore[attr-defined]
        lab.prefix + CALLS, record.value, record.key, partition, headers=list(record.headers)
    )
    return None
