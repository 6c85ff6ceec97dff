"""What we change in aiokafka and in the interpreter, in one place; a test checks that it is still there.

`BACKOFF_OVERRIDE` is the wait after a CONCURRENT_TRANSACTIONS answer: between two transactions of one producer the
broker is still writing markers for a few milliseconds, and 20 ms of sleep would be most of a cycle.
"""

import gc

from aiokafka.producer import sender

TRANSACTION_BACKOFF_SECONDS = 0.002
PRODUCER_BACKOFF_MS = 2
"""The broker makes clients of this age ask again while it verifies a transaction's partition: that takes 1 or 2 ms."""
CONSUMER_BACKOFF_MS = 100
"""A consumer asks again at this pace while the broker is away: fetches, heartbeats and metadata, each on its own."""
MAX_BATCH_BYTES = 1_000_000
FETCH_MAX_WAIT_MS = 100


def tune_aiokafka() -> None:
    """Apply the constants. Raises AttributeError when this aiokafka does not have them any more."""
    if not hasattr(sender, "BACKOFF_OVERRIDE"):
        raise AttributeError(
            "aiokafka.producer.sender.BACKOFF_OVERRIDE is gone: check odradek_runtime.tuning"
        )
    sender.BACKOFF_OVERRIDE = TRANSACTION_BACKOFF_SECONDS


def tune_garbage_collector() -> None:
    """Look for cycles more seldom: a worker makes hundreds of objects a rollout and hardly a cycle.

    With Python's default thresholds the collector takes a third of an agent-worker's CPU. What exists at the start
    (modules, models) is never looked at again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
