"""Naming partitions where work waits and nothing moves."""

import time

from odradek_runtime.logs import get_logger
from odradek_runtime.metrics import Metrics
from odradek_runtime.owners import Owner

STALL_SECONDS = 60.0

log = get_logger(__name__)


class StallWatch:
    """Compares what each owner has committed with what it had a while ago."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._seen: dict[int, tuple[int, float]] = {}

    def look(self, number: int, owner: Owner) -> bool:
        """Whether `number` has had a backlog for STALL_SECONDS without one commit."""
        progress, now = owner.commits(), time.monotonic()
        before, since = self._seen.get(number, (-1, now))
        if progress != before or not any(owner.backlog().values()):
            self._seen[number] = (progress, now)
            self._metrics.stalled.labels(str(number)).set(0)
            return False
        stalled = now - since > STALL_SECONDS
        if stalled:
            log.warning(
                "partition is stalled", partition=number, backlog=owner.backlog(), seconds=round(now - since)
            )
            self._metrics.stalled.labels(str(number)).set(1)
            self._seen[number] = (progress, now - STALL_SECONDS / 2)
        return stalled
