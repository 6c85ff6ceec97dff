"""The supervisor's own process.

`supervisor.up` starts it as `python -m odradek_local.daemon LOCK SETTINGS`: the descriptor of the lock file that it
holds, and its settings as JSON.
"""

import asyncio
import logging
import os
import signal
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from odradek_local.keeper import Keeper
from odradek_local.pools import Pools
from odradek_local.ports import turn_to_choose
from odradek_local.settings import LocalSettings
from odradek_local.stack import Stack
from odradek_local.state import ASKED, StackState, Status, supervisor_log, write_state


async def run(settings: LocalSettings) -> None:
    """Runs the whole stack until it is cancelled; raises what keeps it from starting, after stopping all parts."""
    async with AsyncExitStack() as turn:
        await turn.enter_async_context(turn_to_choose())
        stack = Stack(settings)
        keeper = Keeper(_initial_state(stack), lambda state: write_state(settings.folder, state))
        pools = Pools(stack, keeper)
        asyncio.get_running_loop().add_signal_handler(ASKED, pools.look)
        try:
            await keeper.bring_up(stack.foundation)
            await _apply_topics(stack)
            await keeper.bring_up(stack.services)
            await turn.aclose()
            await asyncio.gather(keeper.keep(), pools.follow())
        except Exception as error:
            keeper.fail(error)
            raise
        finally:
            await keeper.stop()


async def _apply_topics(stack: Stack) -> None:
    from odradek_runtime.brokers import Brokers
    from odradek_runtime.kafka_security import PLAINTEXT
    from odradek_runtime.topics import apply_topics  # here: it takes long, and the broker is to start first

    await apply_topics(
        Brokers(stack.broker.bootstrap, PLAINTEXT), stack.settings.topic_prefix, stack.settings.partitions
    )
    stack.settings.partitions_file.write_text(f"{stack.settings.partitions}\n")


async def until_signal(work: asyncio.Task[None]) -> None:
    """Awaits the work; SIGTERM and SIGINT cancel it, which is its orderly end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    await asyncio.wait({work})
    if not work.cancelled():
        work.result()


def _initial_state(stack: Stack) -> StackState:
    settings = stack.settings
    return StackState(
        status=Status.STARTING,
        supervisor_pid=os.getpid(),
        started_at=datetime.now(UTC),
        bootstrap=stack.broker.bootstrap,
        topic_prefix=settings.topic_prefix,
        partitions=settings.partitions,
        blob_store=stack.blob_store,
        gateway_url=stack.gateway_url,
        models=stack.models,
        log=supervisor_log(settings.folder),
        notes=stack.notes,
    )


async def _main(lock: int, settings: LocalSettings) -> None:
    os.set_inheritable(lock, False)  # the parts must not keep the lock when the supervisor is gone
    await until_signal(asyncio.create_task(run(settings)))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
    asyncio.run(_main(int(sys.argv[1]), LocalSettings.model_validate_json(sys.argv[2])))
