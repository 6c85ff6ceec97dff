"""Processes that are killed, or stopped and resumed, at any moment: one output an input for a careful reader."""

import asyncio
import random
import signal

import pytest
from runtime_lab import CALLS, Lab, Program, call, until, until_async

pytestmark = pytest.mark.kafka

LONG = 300.0
"""A session timeout that no test waits for."""


async def assert_each_answered_once(lab: Lab, total: int, *, numbered: bool) -> None:
    results = await lab.answered(total)
    assert sorted(seen.event.call_id for seen in results) == sorted(f"call-{n}" for n in range(total))
    for partition in (0, 1) if numbered else ():
        numbers = [int(seen.event.message.content) for seen in results if seen.partition == partition]
        assert numbers == list(range(1, len(numbers) + 1))


async def acquired(program: Program, numbers: int = 2) -> None:
    def owns() -> bool:
        assert program.process.poll() is None, program.log.read_text()[-2000:]
        return len(program.events("acquired")) >= numbers

    await until(owns)


@pytest.mark.parametrize("kind", ["echo", "tally"])
async def test_killed_again_and_again_under_load(lab: Lab, kind: str) -> None:
    """Caught: anything that is committed apart from what belongs to it; a static member that must be waited for."""
    chance = random.Random(kind)
    total, enough, generations = 0, asyncio.Event(), set()

    async def stream() -> None:
        nonlocal total
        while not enough.is_set():
            await lab.send(CALLS, [call(total)], partition=total % 2)
            total += 1

    sending = asyncio.ensure_future(stream())
    for _kill in range(3):
        program = lab.start_program(kind, worker_id="w-0", session_timeout_seconds=LONG, delay=0.01)
        await acquired(program, 1)
        await asyncio.sleep(chance.random() * 0.3)
        program.signal(signal.SIGKILL)
        assert await program.ended() == -signal.SIGKILL
        generations |= {event["generation"] for event in program.events("assigned")}
    last = lab.start_program(kind, worker_id="w-0", session_timeout_seconds=LONG)
    await acquired(last)
    enough.set()
    await sending
    await assert_each_answered_once(lab, total, numbered=kind == "tally")
    generations |= {event["generation"] for event in last.events("assigned")}
    assert len(generations) == 1  # the same place in the group each time: no rebalance


async def test_a_zombie_that_wakes_up_is_fenced_and_joins_again(lab: Lab) -> None:
    """Caught: what a resumed process commits after others took its numbers; one that never works again."""
    first = lab.start_program("tally", session_timeout_seconds=1.5)
    await acquired(first)
    sending = asyncio.ensure_future(lab.send(CALLS, [call(n) for n in range(0, 200, 2)], 0))
    await lab.send(CALLS, [call(n) for n in range(1, 200, 2)], 1)
    first.signal(signal.SIGSTOP)
    await sending
    second = lab.start_program("tally", session_timeout_seconds=1.5)
    await acquired(second)
    await lab.send(CALLS, [call(n) for n in range(200, 240)], 0)
    await assert_each_answered_once(lab, 240, numbered=True)
    first.signal(signal.SIGCONT)
    await acquired(first, 3)  # it has one of the numbers again
    await lab.send(CALLS, [call(n) for n in range(240, 260)], 0)
    await lab.send(CALLS, [call(n) for n in range(260, 280)], 1)
    await assert_each_answered_once(lab, 280, numbered=True)
    assert first.process.poll() is None
    assert second.process.poll() is None


async def test_what_was_in_flight_when_it_died_is_done_again_and_nothing_else(lab: Lab) -> None:
    """Caught: a restart that repeats answered calls which lie behind an unanswered one."""
    program = lab.start_program("echo", worker_id="w-0", session_timeout_seconds=LONG, delay=3600)
    await lab.send(CALLS, [call(0, text="slow"), *(call(n) for n in range(1, 20))])
    await lab.answered(19)
    await until_async(lambda: _committed(lab, 20, (0,)))
    program.signal(signal.SIGKILL)
    await program.ended()
    lab.start_program("echo", worker_id="w-0", session_timeout_seconds=LONG)
    await assert_each_answered_once(lab, 20, numbered=False)
    await until_async(lambda: _committed(lab, 20, ()))


async def _committed(lab: Lab, offset: int, unfinished: tuple[int, ...]) -> bool:
    position = (await lab.committed("echo"))[0]
    return (position.offset, position.unfinished) == (offset, unfinished)
