"""aiokafka's private constants that we change, in one place; a test checks that they are still there.

`BACKOFF_OVERRIDE` is the wait after a CONCURRENT_TRANSACTIONS answer: between two transactions of one producer the
broker is still writing markers for a few milliseconds, and 20 ms of sleep would be most of a cycle.
"""

from aiokafka.producer import sender

TRANSACTION_BACKOFF_SECONDS = 0.002
RETRY_BACKOFF_MS = 5
MAX_BATCH_BYTES = 1_000_000
FETCH_MAX_WAIT_MS = 100


def tune_aiokafka() -> None:
    """Apply the constants. Raises AttributeError when this aiokafka does not have them any more."""
    if not hasattr(sender, "BACKOFF_OVERRIDE"):
        raise AttributeError(
            "aiokafka.producer.sender.BACKOFF_OVERRIDE is gone: check odradek_runtime.tuning"
        )
    sender.BACKOFF_OVERRIDE = TRANSACTION_BACKOFF_SECONDS
