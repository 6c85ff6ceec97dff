"""Whether and when a failed try is made again. Pure: the clock and chance are handed in."""

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

FIRST_BACKOFF_SECONDS = 0.25
LONGEST_BACKOFF_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further try; `reason` says why, for a person."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Try again after so many seconds."""

    seconds: float


def decide(
    tries: int, most_tries: int, retried: bool, retry_after: float | None, left: float, chance: float
) -> Wait | GiveUp:
    """Decide after the failed try number `tries` (from 1).

    Args:
        retried: whether the failure is of a kind that a retry can cure.
        retry_after: seconds that the upstream asked to wait.
        left: seconds until nobody waits for the call any more; a wait always ends before.
        chance: a uniform random number in [0, 1), for full jitter.
    """
    if not retried:
        return GiveUp("the same request would fail again")
    if tries >= most_tries:
        return GiveUp(f"tried {tries} times")
    seconds = (retry_after or 0.0) + chance * _backoff(tries)
    if seconds >= left:
        return GiveUp(
            f"the next try would be in {seconds:.1f} s, past the deadline in {max(left, 0.0):.1f} s"
        )
    return Wait(seconds)


def _backoff(tries: int) -> float:
    return min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** min(tries - 1, 30))


def read_retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait as a Retry-After header says (a number or an HTTP date); None where it says nothing usable.

    Source: RFC 9110, section 10.2.3.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value, now)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _seconds_until(date: str, now: float) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - now
    except (ValueError, OverflowError):
        return math.nan
