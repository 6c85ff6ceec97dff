"""A circuit breaker: a replica that keeps failing is left alone for a while (pure; the clock is handed in).

Source: M. Nygard, "Release It!", ch. 5: closed while it answers, open after failures in a row, half open when the pause
is over: then one call tries, and its end decides for all.
"""

from dataclasses import dataclass

MOST_FAILURES = 5
"""Failures in a row that open it."""
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 5.0
"""Short against the tries of a call, which are to outlast a restart."""


@dataclass(slots=True)
class Breaker:
    """Of one replica. Times are of one monotonic clock, in seconds."""

    failures: int = 0
    closed_from: float = 0.0

    def left(self, now: float) -> float:
        """Seconds until it may be asked; 0.0: at once."""
        return max(0.0, self.closed_from - now) if self.failures >= MOST_FAILURES else 0.0

    def ask(self, now: float) -> None:
        """A call goes to it. Where that is the one that tries, the others wait for as long as a pause."""
        if self.failures >= MOST_FAILURES:
            self.closed_from = now + self._pause()

    def succeeded(self) -> None:
        self.failures = 0

    def failed(self, now: float) -> None:
        self.failures += 1
        self.closed_from = now + self._pause()

    def _pause(self) -> float:
        beyond = min(max(0, self.failures - MOST_FAILURES), 30)
        return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**beyond)
