"""How often a part may be restarted: bounded, so that a part that can't live is reported, not tried for ever."""

from collections import deque

MOST = 5
WITHIN_S = 60.0


class RestartBudget:
    """At most `most` restarts in any `within_s` seconds."""

    def __init__(self, most: int = MOST, within_s: float = WITHIN_S):
        self.most = most
        self.within_s = within_s
        self._times: deque[float] = deque()

    def spend(self, now: float) -> bool:
        """Takes one restart at time `now` (seconds, monotonic); False when none is left."""
        while self._times and now - self._times[0] >= self.within_s:
            self._times.popleft()
        if len(self._times) >= self.most:
            return False
        self._times.append(now)
        return True
