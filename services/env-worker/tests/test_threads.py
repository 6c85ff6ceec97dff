"""Plain tools in threads."""

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from odradek_env_worker.threads import ToolThreads


@pytest.fixture
async def gate() -> AsyncIterator[threading.Event]:
    """What hangs goes on when it is set, at the latest when the test ends."""
    gate = threading.Event()
    yield gate
    gate.set()


def _never() -> None:
    raise AssertionError("gave up without a reason")


async def test_a_thread_runs_what_it_is_given_and_hands_back_what_comes_of_it() -> None:
    threads = ToolThreads(4, 2, _never)
    names = await asyncio.gather(*(threads.run(threading.current_thread) for _ in range(100)))
    assert threading.main_thread() not in names
    assert len({thread.name for thread in names}) <= 4


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("bye")])
async def test_what_the_function_raises_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error), match=str(error)):
        await ToolThreads(4, 2, _never).run(_raising(error))


async def test_what_a_failed_function_held_is_let_go_at_once() -> None:
    """A tool may have eaten all memory before it raised, and the collector of cycles comes seldom."""
    threads, gone = ToolThreads(4, 2, _never), asyncio.Event()
    let_go = asyncio.get_running_loop().call_soon_threadsafe

    def eat() -> None:
        meal = threading.Event()
        weakref.finalize(meal, let_go, gone.set)
        raise MemoryError

    gc.disable()
    try:
        with suppress(MemoryError):
            await threads.run(eat)
        async with asyncio.timeout(5):
            await gone.wait()
    finally:
        gc.enable()


async def test_a_stop_iteration_is_an_error_like_any_other() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await ToolThreads(4, 2, _never).run(_raising(StopIteration()))


async def test_a_slow_function_does_not_hold_up_the_others(gate: threading.Event) -> None:
    threads = ToolThreads(4, 2, _never)
    slow = asyncio.ensure_future(threads.run(gate.wait))
    assert await asyncio.gather(*(threads.run(lambda: 1) for _ in range(50))) == [1] * 50
    assert not slow.done()
    gate.set()
    assert await slow


async def test_a_thread_that_nobody_waits_for_is_lost_until_it_returns(gate: threading.Event) -> None:
    threads = ToolThreads(4, 3, _never)
    await _abandon(threads, gate)
    await _abandon(threads, gate)
    assert threads.lost == 2
    assert await threads.run(lambda: 1) == 1
    gate.set()
    everybody = threading.Barrier(4, timeout=10)
    await asyncio.gather(*(threads.run(everybody.wait) for _ in range(4)))
    assert threads.lost == 0


async def test_too_many_lost_threads_are_a_reason_to_give_up(gate: threading.Event) -> None:
    given_up: list[bool] = []
    threads = ToolThreads(4, 2, lambda: given_up.append(True))
    await _abandon(threads, gate)
    assert not given_up
    await _abandon(threads, gate)
    assert given_up


async def test_what_has_not_begun_when_nobody_waits_any_more_never_runs(gate: threading.Event) -> None:
    threads = ToolThreads(1, 2, _never)
    first = asyncio.ensure_future(threads.run(gate.wait))
    ran: list[bool] = []
    second = threads.run(lambda: ran.append(True))
    assert isinstance(second, asyncio.Future)
    second.cancel()
    gate.set()
    await first
    assert await threads.run(lambda: 1) == 1
    assert threads.lost == 0
    assert not ran


async def _abandon(threads: ToolThreads, gate: threading.Event) -> None:
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait(60)

    job = threads.run(work)
    assert isinstance(job, asyncio.Future)
    assert await asyncio.to_thread(begun.wait, 10)
    job.cancel()
    await asyncio.sleep(0)


def _raising(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function
