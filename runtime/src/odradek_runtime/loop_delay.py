"""How late the event loop is: what whoever waits in it pays before its turn comes.

Ticks are due at a fixed rate, and each is observed when the loop gets to it. A loop that stood still for a second was
late for all ticks of that second, not for one: else the worst moments would count least.
"""

import asyncio
import time

from prometheus_client import Histogram

TICK_SECONDS = 0.05


async def watch_loop_delay(delays: Histogram, tick_seconds: float = TICK_SECONDS) -> None:
    """Observe in `delays` (seconds) how late this event loop is, until cancelled."""
    due = time.monotonic() + tick_seconds
    while True:
        # Not the loop's own clock: uvloop's is in milliseconds, and stands still within a turn of the loop.
        await asyncio.sleep(max(0.001, due - time.monotonic()))
        late, due = late_ticks(due, time.monotonic(), tick_seconds)
        for seconds in late:
            delays.observe(seconds)


def late_ticks(due: float, now: float, tick_seconds: float) -> tuple[list[float], float]:
    """How late each tick is that was due by `now`, and when the next is due."""
    late = []
    while due <= now:
        late.append(now - due)
        due += tick_seconds
    return late, due
