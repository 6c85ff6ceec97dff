"""Rules 6 and 9: static members; members whose handlers are slow. Sessions here outlast the tests' deadlines."""

import asyncio
from functools import partial
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from runtime_lab import CALLS, Echo, EchoHandler, Lab, Tally, call, until

from odradek_runtime import membership
from odradek_schemas.events import ModelCallRequested

pytestmark = pytest.mark.kafka


def _with_quick_heartbeat(consumer: Any, **settings: Any) -> Any:
    """Members are told of a rebalance by their heartbeats, which else come four times a session."""
    return consumer(**{**settings, "heartbeat_interval_ms": 300})


LONG = 300.0
"""A session timeout that no test waits for: what happens within the deadline is not its doing."""


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
async def test_a_clean_stop_leaves_the_group_at_once(
    lab: Lab, static: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: aiokafka's static members send no LeaveGroup: their numbers would wait for the session timeout."""
    quick = partial(_with_quick_heartbeat, AIOKafkaConsumer)
    monkeypatch.setattr(membership, "AIOKafkaConsumer", quick)
    first = lab.start(Echo().processor(), session_timeout_seconds=LONG, worker_id="w-0" if static else None)
    await lab.owning(first)
    second = lab.start(Echo().processor(), session_timeout_seconds=LONG, worker_id="w-1" if static else None)
    await lab.owning(first, second)
    await first.stop()
    await lab.owning(second)
    await lab.send(CALLS, [call(n) for n in range(4)])
    await lab.answered(4)


async def test_a_member_whose_handler_is_slow_stays_a_member(lab: Lab) -> None:
    """Caught: handling on the polling path, or anything else that stops the heartbeat for longer than the session."""

    class Slow(Echo):
        async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
            await asyncio.sleep(4)

    slow = Slow()
    running = lab.start(slow.processor(), session_timeout_seconds=1.5)
    await lab.owning(running)
    generation, members = running.worker._membership.generation, await lab.members("echo")
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    assert await lab.members("echo") == members != set()
    assert running.worker._membership.generation == generation
    assert (slow.begun, slow.cancelled, len(slow.handlers)) == (["call-0"], [], 2)


async def test_a_worker_that_was_silent_for_a_session_finds_its_number_gone_and_starts_over(lab: Lab) -> None:
    """Caught: state that survives although somebody else owned the number meanwhile, and work that is begun on it."""
    first_echo, second_echo = Echo(max_in_flight=1), Echo()
    first_echo.gate.clear()
    first = lab.start(first_echo.processor(), session_timeout_seconds=1.5)
    await lab.owning(first)
    await lab.send(CALLS, [call(0), call(8)], partition=0)
    await until(lambda: first_echo.begun == ["call-0"])
    coordinator = first.worker._membership._consumer._coordinator
    await coordinator._stop_heartbeat_task()  # as if the machine had stopped
    second = lab.start(second_echo.processor(), session_timeout_seconds=1.5)
    await until(lambda: second.numbers == {0, 1})
    await lab.answered(2)
    first_echo.gate.set()  # what it finishes now is fenced
    await until(lambda: len(first.numbers) == len(second.numbers) == 1)
    assert first_echo.begun == ["call-0"], "what waited was begun when another had answered it"
    await lab.send(CALLS, [call(n) for n in range(1, 4)], partition=0)
    await lab.send(CALLS, [call(n) for n in range(4, 8)], partition=1)
    await lab.answered(9)
    assert await lab.answers() == [f"call-{n}" for n in range(9)]


async def test_an_idle_fold_that_missed_a_generation_is_restored_before_it_is_asked(lab: Lab) -> None:
    """Caught: keeping state over more than one generation: it would be wrong until its first commit is fenced."""
    tally = Tally()
    first = lab.start(tally.processor(), session_timeout_seconds=1.5)
    await lab.owning(first)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    consumer = first.worker._membership._consumer
    coordinator = consumer._coordinator
    await coordinator._stop_heartbeat_task()
    consumer.pause(*consumer.assignment())  # it sees nothing of what happens meanwhile
    second = lab.start(Tally().processor(), session_timeout_seconds=1.5)
    await until(lambda: second.numbers == {0, 1})
    await lab.send(CALLS, [call(1)])
    await lab.answered(2)
    await second.stop()
    coordinator.request_rejoin()

    def restored() -> bool:
        newest = [fold for fold in tally.folds if fold.context.partition == 0][-1]
        return newest.seen == ["call-0", "call-1"] and first.worker.ready

    await until(restored)
    assert first.value("odradek_errors_total", kind="ProducerFenced") is None
