"""Naming two workers that run with one ODRADEK_WORKER_ID.

Kafka lets the later one take a static member's place, and aiokafka joins again in the place that it has lost: the two
evict each other for ever, and as long as there is no traffic that fences one, nothing else tells of it.
"""

from odradek_runtime.logs import get_logger
from odradek_runtime.recent import RecentTimes

OFTEN = 4
WITHIN_SECONDS = 60.0
"""A member that was away for a moment gets its old assignment once; one that is evicted, at each heartbeat."""

log = get_logger(__name__)


class TwinWatch:
    """Watches the assignments of one static member."""

    def __init__(self, worker_id: str | None) -> None:
        self._worker_id = worker_id
        self._last: tuple[frozenset[int], int] | None = None
        self._again = RecentTimes(WITHIN_SECONDS)

    def look(self, numbers: frozenset[int], generation: int) -> bool:
        """Whether the same assignment in the same generation came so often that there must be a twin; says so."""
        again, self._last = self._last == (numbers, generation), (numbers, generation)
        if self._worker_id is None or not again or self._again.add() < OFTEN:
            return False
        self._again = RecentTimes(WITHIN_SECONDS)
        log.error(
            "evicted from the group again and again: another worker runs with the same ODRADEK_WORKER_ID; give each its own",
            worker_id=self._worker_id,
            generation=generation,
        )
        return True
