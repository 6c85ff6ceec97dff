"""Taking leave: bounded, and nobody's error is hidden by it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from odradek_runtime.leaving import stopped


class Client:
    """A client whose `stop` does as it is told."""

    def __init__(self, stop: Callable[[], Awaitable[object]]) -> None:
        self._stop = stop

    async def stop(self) -> None:
        await self._stop()


async def cancelled_within() -> None:
    """As aiokafka's consumer does while the broker is away: it awaits a task that it has cancelled."""
    inner = asyncio.ensure_future(asyncio.sleep(60))
    inner.cancel()
    await inner


async def refused() -> None:
    raise OSError("connection reset")


async def test_a_client_that_never_stops_is_left_behind() -> None:
    async with asyncio.timeout(30):
        await stopped(Client(asyncio.Event().wait), seconds=0.05)


async def fails_and_leaves() -> None:
    try:
        raise ValueError("the caller's own")
    finally:
        await stopped(Client(cancelled_within), Client(cancelled_within))


async def test_an_inner_cancellation_is_not_the_callers() -> None:
    with pytest.raises(ValueError, match="the caller's own"):
        await fails_and_leaves()


async def test_what_a_client_raises_is_raised() -> None:
    with pytest.raises(OSError, match="connection reset"):
        await stopped(Client(refused), Client(cancelled_within))


async def test_a_cancelled_caller_stops_waiting() -> None:
    waiting = asyncio.ensure_future(stopped(Client(asyncio.Event().wait)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
