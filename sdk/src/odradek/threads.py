"""Where the plain (not `async`) functions of an environment run: in a thread, for they may block.

By default that is the event loop's own pool. Whoever drives environments all day long (the env-worker) brings a
cheaper one, for everything that runs under its context.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

Threads = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs a function in a thread and waits for what it returns or raises."""

_threads: ContextVar[Threads | None] = ContextVar("odradek_threads", default=None)


@contextmanager
def running_in(threads: Threads) -> Iterator[None]:
    """Let `threads` run what the current context asks to run in a thread."""
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)


async def in_thread(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Run `function` in a thread; whatever it raises goes through. The thread goes on when the caller is cancelled."""
    threads = _threads.get()
    if threads is None:
        return await asyncio.to_thread(function, *args, **kwargs)
    result: _T = await threads(partial(function, *args, **kwargs))
    return result
