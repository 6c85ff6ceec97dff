"""Counting what happened lately: the bound on whatever is tried again."""

import time


class RecentTimes:
    """Counts what happened within the last `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._times: list[float] = []

    def add(self) -> int:
        """Note that it happened now; returns how often it did lately."""
        now = time.monotonic()
        self._times = [*(t for t in self._times if now - t < self._seconds), now]
        return len(self._times)
