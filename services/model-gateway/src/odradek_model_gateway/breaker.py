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
    """Of one replica. Times are of one monotonic clock, in seconds.

    `failures` in a row, until it opens; `vain` tries since, each of which doubles the pause. What was under way when it
    opened fails too, and counts for neither: a server that dies fails hundreds of calls in one moment.
    """

    failures: int = 0
    vain: int = 0
    trying: bool = False
    open_until: float = 0.0

    def left(self, now: float) -> float:
        """Seconds until it may be asked; 0.0: at once."""
        return max(0.0, self.open_until - now) if self.opened else 0.0

    def ask(self, now: float) -> None:
        """A call goes to it. Where that is the one that tries, the others wait for as long as a pause."""
        if self.opened:
            self.trying = True
            self._pause(now)

    def succeeded(self) -> None:
        self.failures, self.vain, self.trying = 0, 0, False

    def failed(self, now: float) -> None:
        if self.trying:
            self.trying = False
            self.vain += 1
            self._pause(now)
        elif not self.opened:
            self.failures += 1
            self._pause(now)

    @property
    def opened(self) -> bool:
        """Whether it is left alone, but for one call that tries."""
        return self.failures >= MOST_FAILURES

    def _pause(self, now: float) -> None:
        self.open_until = now + min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self.vain, 30))
