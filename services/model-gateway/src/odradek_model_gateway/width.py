"""How many calls at once a replica bears, learnt from how it answers (pure; the clock is handed in).

Additive increase, multiplicative decrease, as TCP does it: halved when the replica says that it has too much (429, 503),
at most once per round trip, since what was under way then says the same thing again; one more for each window of
successes. A reply that is slow for what it is among replies that are slow takes a tenth, once per round trip too: a
queue grows there. What is slow for good is the new measure after some hundred calls, and slowness alone never takes
more than three quarters: longer prompts look the same from here.

Sources: D. Chiu, R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance"; L. Brakmo et al.,
"TCP Vegas"; Netflix' concurrency-limits (`Gradient2Limit`), for the two averages of latency.
"""

from dataclasses import dataclass, field

HALF = 0.5
SLOWER = 0.9
SLOW_TIMES = 3.0
"""A batching server is slower for each call the more it has, and does more in all: only far beyond is a queue."""
LEAST_SHARE_WHEN_SLOW = 0.25
LATEST, USUAL = 10, 600
"""Replies in the average of the latest, and in that of many."""
OVERHEAD_TOKENS = 32
"""What a reply costs besides its own tokens, in tokens."""


@dataclass(slots=True)
class Average:
    """The mean of what was added, of the last `over` more than of what came before."""

    over: int
    value: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.count = min(self.count + 1, self.over)
        self.value += (value - self.value) / self.count


@dataclass(slots=True)
class Width:
    """Of one replica: `limit` is between 1 and `most`, where it begins."""

    most: int
    limit: float = field(init=False)
    _changed: float = field(default=float("-inf"), init=False)
    _latest: Average = field(default_factory=lambda: Average(LATEST), init=False)
    _usual: Average = field(default_factory=lambda: Average(USUAL), init=False)

    def __post_init__(self) -> None:
        self.limit = self.most

    @property
    def calls(self) -> int:
        """How many may be under way."""
        return int(self.limit)

    def succeeded(self, began: float, now: float, tokens: int) -> None:
        """A call that began then was answered with so many tokens."""
        if self._slow((now - began) / (OVERHEAD_TOKENS + tokens)):
            self._cut(SLOWER, LEAST_SHARE_WHEN_SLOW * self.most, began, now)
        else:
            self.limit = min(self.most, self.limit + 1 / self.limit)

    def pushed_back(self, began: float, now: float) -> None:
        """A call that began then was told that there are too many."""
        self._cut(HALF, 1.0, began, now)

    def _cut(self, share: float, least: float, began: float, now: float) -> None:
        if began > self._changed and self.limit > least:
            self.limit = max(1.0, least, self.limit * share)
            self._changed = now

    def _slow(self, pace: float) -> bool:
        """Take in the seconds per token of a reply; whether the latest are far above the usual."""
        self._latest.add(pace)
        self._usual.add(pace)
        return self._latest.value > SLOW_TIMES * self._usual.value
