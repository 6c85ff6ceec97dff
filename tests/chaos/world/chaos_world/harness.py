"""A harness that plays as it should, or as the task says."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from odradek import Harness, Rollout

_MOST_SECONDS = 120.0
_LONG_SECONDS = 3600.0


class Misplayed(Harness):
    """`task.harness` names one of the functions below."""

    name = "chaos"

    async def run(self, rollout: Rollout) -> None:
        await WAYS[str(rollout.task["harness"])](rollout)


async def play(rollout: Rollout) -> None:
    while not rollout.finished:
        reply = await rollout.model()
        if not reply.tool_calls:
            return
        await rollout.act(reply.tool_calls)


async def raise_error(rollout: Rollout) -> None:
    await rollout.model()
    raise ValueError("nobody expected this")


async def hang(rollout: Rollout) -> None:
    """Compute without an await."""
    await rollout.model()
    until = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < until:
        pass


async def drift(rollout: Rollout) -> None:
    """Ask something else in another process; then rest, long enough for this one to be killed."""
    await rollout.model()
    await rollout.model(seed=os.getpid())
    await rollout.sleep(_LONG_SECONDS)


async def await_another(rollout: Rollout) -> None:
    """Await what is not the rollout's."""
    await asyncio.sleep(0)


async def await_for_ever(rollout: Rollout) -> None:
    """Await what never comes."""
    await asyncio.Event().wait()


async def rest(rollout: Rollout) -> None:
    """Sleep longer than a rollout may last."""
    await rollout.sleep(_LONG_SECONDS)


WAYS: dict[str, Callable[[Rollout], Awaitable[None]]] = {
    way.__name__: way for way in (play, raise_error, hang, drift, await_another, await_for_ever, rest)
}
