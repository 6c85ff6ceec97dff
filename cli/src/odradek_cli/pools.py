"""The local stack's pools, for whoever scales them: its supervisor has the workers."""

import asyncio
from collections.abc import Sequence

from odradek_cli import local
from odradek_cli.errors import CliError
from odradek_scaling.controller import DriverError
from odradek_scaling.telling import Address

HOST = "127.0.0.1"


class LocalPools:
    """Implements `odradek_scaling.controller.PoolDriver`."""

    async def replicas(self, pool: str) -> int:
        state = await asyncio.to_thread(local.running_stack)
        if state is None:
            raise DriverError("no local stack is running")
        return state.scale[pool]

    async def scale(self, pool: str, replicas: int) -> None:
        await asyncio.to_thread(_ask, pool, replicas)

    async def workers(self, pool: str) -> Sequence[Address]:
        """Where the workers of a pool tell their metrics."""
        state = await asyncio.to_thread(local.running_stack)
        return [(HOST, part.port) for part in state.parts if part.pool == pool] if state else []

    async def close(self) -> None:
        """Nothing is held."""


def _ask(pool: str, replicas: int) -> None:
    from odradek_local import supervisor
    from odradek_local.state import StackError

    try:
        supervisor.scale(local.settings(), {pool: replicas}, deadline_s=None)
    except (StackError, CliError, OSError) as error:
        raise DriverError(str(error)) from error
