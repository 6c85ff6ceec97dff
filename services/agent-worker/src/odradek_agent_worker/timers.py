"""Timers of all rollouts of a partition, on one heap.

Nothing is ever taken off the heap before its time: a timer that is not set any more is recognised when it comes up,
and the heap is swept when the dead outnumber the living.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple

LEAST_SWEPT = 1024


class Timer(NamedTuple):
    """`when` it fires: `due`, or later where it was held back."""

    when: datetime
    due: datetime
    rollout_id: str
    name: str


IsSet = Callable[[Timer], bool]


class Timers:
    """`is_set` says whether a timer still counts."""

    def __init__(self, is_set: IsSet) -> None:
        self._is_set = is_set
        self._heap: list[Timer] = []
        self._sweep_at = LEAST_SWEPT

    def __len__(self) -> int:
        return len(self._heap)

    def arm(self, due: datetime, rollout_id: str, name: str, not_before: datetime | None = None) -> None:
        when = due if not_before is None else max(due, not_before)
        heappush(self._heap, Timer(when, due, rollout_id, name))
        if len(self._heap) >= self._sweep_at:
            self._sweep()

    def next(self) -> datetime | None:
        """When the first timer that counts fires."""
        heap = self._heap
        while heap and not self._is_set(heap[0]):
            heappop(heap)
        return heap[0].when if heap else None

    def fired(self, now: datetime) -> Iterator[Timer]:
        """Take off those that fire by `now`. Each is checked when its turn comes: an earlier one may have ended it."""
        while self._heap and self._heap[0].when <= now:
            timer = heappop(self._heap)
            if self._is_set(timer):
                yield timer

    def _sweep(self) -> None:
        self._heap = [timer for timer in self._heap if self._is_set(timer)]
        heapify(self._heap)
        self._sweep_at = max(LEAST_SWEPT, 2 * len(self._heap))
