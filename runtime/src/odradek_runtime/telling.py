"""Telling the group, beside the work, how far its numbers are."""

import asyncio
from collections.abc import Mapping

from aiokafka.errors import KafkaError

from odradek_runtime.membership import Membership
from odradek_runtime.metrics import Metrics
from odradek_runtime.owners import Owner


class Teller:
    """Tells from time to time, one telling after another; what could not be told is told the next time."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._telling: asyncio.Task[None] | None = None

    def begin(self, membership: Membership, owners: Mapping[int, Owner]) -> None:
        """Tell now, unless the last telling is still under way."""
        if self._telling is None or self._telling.done():
            self._telling = asyncio.ensure_future(self._tell(membership, owners))

    async def finish(self, membership: Membership, owners: Mapping[int, Owner]) -> None:
        """Tell for the last time."""
        if self._telling is not None:
            await asyncio.wait({self._telling})
        await self._tell(membership, owners)

    async def _tell(self, membership: Membership, owners: Mapping[int, Owner]) -> None:
        try:
            await membership.tell({number: owner.committed() for number, owner in owners.items()})
        except (KafkaError, TimeoutError) as error:
            self._metrics.errors.labels(type(error).__name__).inc()
