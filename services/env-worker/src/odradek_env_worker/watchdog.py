"""Ends a worker whose event loop stands still.

A plain tool runs in a thread, but if it holds the interpreter's lock (a pathological regular expression) no Python
code runs, the heartbeat neither. `faulthandler`'s timer is a C thread and needs no lock: it writes where each thread
is, and ends the process.
"""

import asyncio
import faulthandler


class Watchdog:
    """Give it a life by `start`; it watches the running event loop until that ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, if it has not begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        try:
            while True:
                faulthandler.dump_traceback_later(self._seconds, exit=True)
                await asyncio.sleep(self._seconds / 4)
        finally:
            faulthandler.cancel_dump_traceback_later()
