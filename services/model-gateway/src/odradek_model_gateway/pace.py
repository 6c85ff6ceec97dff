"""So much a minute, spread over it (pure; the clock is handed in).

The generic cell rate algorithm: `due` is when all that was taken will have been paid for at an even pace; who comes while
no more than BURST_SECONDS are owed need not wait. The pace is chosen so that no minute ever sees more than the limit:
what may come at once is part of it. So a limit that is always asked for yields 60 / 66 of itself.

Source: ITU-T I.371, annex A; the form with one stored time as in B. Weisner, "Rate Limiting, Cells, and GCRA".
`shared.lua` does the same for all gateways.
"""

from dataclasses import dataclass

BURST_SECONDS = 6.0
MINUTE_SECONDS = 60.0


def seconds_each(per_minute: int) -> float:
    """How long one unit takes to be paid for."""
    return (MINUTE_SECONDS + BURST_SECONDS) / per_minute


@dataclass(slots=True)
class Pace:
    """What was taken of one limit."""

    per_minute: int
    due: float = float("-inf")

    def left(self, units: int, now: float) -> float:
        """Seconds until so many may be taken. More than may ever come at once are had when nothing is owed."""
        price = units * seconds_each(self.per_minute)
        return max(0.0, self.due + min(price, BURST_SECONDS) - BURST_SECONDS - now)

    def take(self, units: int, now: float) -> None:
        """Take them now; fewer than none: give back what was taken too much of."""
        self.due = max(self.due, now) + units * seconds_each(self.per_minute)
