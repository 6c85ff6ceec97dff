"""The event loop's delay: what is observed when the loop is late."""

import asyncio
import time
from contextlib import suppress

import pytest

from odradek_runtime.loop_delay import late_ticks, watch_loop_delay
from odradek_runtime.metrics import Metrics


def test_each_tick_of_a_stall_counts() -> None:
    """Caught: a stall that counts as one late tick, so that a percentile never sees it."""
    late, due = late_ticks(due=10.0, now=10.9, tick_seconds=0.25)
    assert late == pytest.approx([0.9, 0.65, 0.4, 0.15])
    assert due == pytest.approx(11.0)


def test_a_tick_that_is_not_due_does_not_count() -> None:
    assert late_ticks(due=10.0, now=9.999, tick_seconds=0.25) == ([], 10.0)


async def test_a_loop_that_stands_still_is_seen() -> None:
    """Caught: a clock that stands still with the loop."""
    metrics = Metrics()
    watch = asyncio.create_task(watch_loop_delay(metrics.loop_delay, tick_seconds=0.01))
    await asyncio.sleep(0.02)
    before = delayed(metrics, 0.25)
    time.sleep(0.6)  # noqa: ASYNC251 - to block the loop is the test
    await asyncio.sleep(0.02)
    watch.cancel()
    with suppress(asyncio.CancelledError):
        await watch
    assert delayed(metrics, 0.25) >= before + 30


def delayed(metrics: Metrics, seconds: float) -> float:
    """How many ticks were later than `seconds`."""
    name = "odradek_loop_delay_seconds"
    within = metrics.registry.get_sample_value(f"{name}_bucket", {"le": str(seconds)})
    everything = metrics.registry.get_sample_value(f"{name}_count")
    assert within is not None
    assert everything is not None
    return everything - within
