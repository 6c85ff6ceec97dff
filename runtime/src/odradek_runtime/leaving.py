"""Taking leave of a broker that may not answer."""

import asyncio
from typing import Protocol

from odradek_runtime.logs import get_logger

STOP_SECONDS = 10.0

log = get_logger(__name__)


class Client(Protocol):
    """A consumer or producer of aiokafka."""

    async def stop(self) -> None: ...


async def stopped(*clients: Client, seconds: float = STOP_SECONDS) -> None:
    """Stop `clients` at the same time, and wait no longer than `seconds`; what is left ends with the process.

    While a broker is away aiokafka's `stop` may end by a CancelledError of its own inner tasks. It must not pass for
    a cancellation of the caller, whose own error it would hide.

    Raises:
        Exception: what a client raised.
    """
    tasks = {asyncio.ensure_future(client.stop()) for client in clients}
    done, pending = await asyncio.wait(tasks, timeout=seconds)
    for task in pending:
        task.cancel()
    if pending:
        log.warning("the broker did not answer when a client left", seconds=seconds, clients=len(pending))
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
