"""The replicas of one model, and which of them a call goes to.

A rollout's calls prefer the same replica, whose prefix cache knows them: weighted rendezvous hashing, so that adding a
replica moves only its share, and removing one only what was its own. A replica that is full or ill is passed over for
the next in the rollout's order.

Source: C. Schindelhauer, G. Schomaker, "Weighted Distributed Hash Tables" (logarithmic method).
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from odradek.models import ModelSettings, Replica
from odradek_model_gateway.breaker import Breaker
from odradek_model_gateway.failures import CallError
from odradek_schemas.failures import FailureKind

_ILL = frozenset({FailureKind.UPSTREAM_UNAVAILABLE, FailureKind.MALFORMED_REPLY})


@dataclass(slots=True)
class Place:
    """One replica as calls see it: where, how much of the whole, how many at once, and how it fares."""

    url: str
    weight: float
    slots: asyncio.Semaphore
    breaker: Breaker = field(default_factory=Breaker)
    last_failure: CallError | None = None


class Replicas:
    """All replicas of a model; `places` in the order of its settings."""

    def __init__(self, settings: ModelSettings) -> None:
        self._patience = 0.9 * settings.timeout_seconds
        self.places = [_place(replica, settings) for replica in settings.base_url]

    @asynccontextmanager
    async def one_for(self, rollout_id: str, attempt: int) -> AsyncIterator[str]:
        """The API's base at a replica for try number `attempt` (from 1): its own for the first, then the next ones.

        What the call raises within tells how the replica fares.

        Raises:
            CallError: all are ill: as the last call to one of them failed, with the time until it may be asked again.
        """
        place = choose(turned(ranked(self.places, rollout_id), attempt - 1), time.monotonic())
        async with place.slots:
            began = time.monotonic()
            place.breaker.ask(began)
            try:
                yield place.url
            except CallError as error:
                _note(place, error)
                raise
            except asyncio.CancelledError:
                self._given_up(place, time.monotonic() - began)
                raise
            place.breaker.succeeded()

    def _given_up(self, place: Place, seconds: float) -> None:
        """A call was given up: for its run's sake, for its own deadline's, or because a try's whole time has passed."""
        if seconds >= self._patience:
            place.breaker.failed(time.monotonic())
            place.last_failure = CallError(
                FailureKind.UPSTREAM_UNAVAILABLE, f"no answer within {seconds:.1f} s"
            )


def ranked(places: Sequence[Place], rollout_id: str) -> list[Place]:
    """The replicas in the order in which a rollout prefers them."""
    if len(places) == 1:
        return [*places]
    return sorted(places, key=lambda place: _distance(place, rollout_id))


def turned(places: Sequence[Place], by: int) -> list[Place]:
    """The same order, begun `by` places further on."""
    start = by % len(places)
    return [*places[start:], *places[:start]]


def choose(places: Sequence[Place], now: float) -> Place:
    """The first that is neither ill nor full; else the first that is not ill, which the call waits for.

    Raises:
        CallError: all are ill.
    """
    well = [place for place in places if not place.breaker.left(now)]
    if not well:
        raise _all_ill(places, now)
    return next((place for place in well if not place.slots.locked()), well[0])


def _place(replica: Replica, settings: ModelSettings) -> Place:
    return Place(replica.url, replica.weight, asyncio.Semaphore(settings.most_at(replica)))


def _distance(place: Place, rollout_id: str) -> float:
    """Exponentially distributed with the replica's weight as its rate: the least is its with its share."""
    digest = blake2b(f"{place.url} {rollout_id}".encode(), digest_size=8).digest()
    uniform = (int.from_bytes(digest) + 1) / (2**64 + 1)
    return -math.log(uniform) / place.weight


def _note(place: Place, error: CallError) -> None:
    """A refusal is an answer: whoever gives it is well."""
    if error.failure.kind in _ILL:
        place.breaker.failed(time.monotonic())
        place.last_failure = error
    else:
        place.breaker.succeeded()


def _all_ill(places: Iterable[Place], now: float) -> CallError:
    place = min(places, key=lambda place: place.breaker.left(now))
    last = place.last_failure
    kind, told = (
        (last.failure.kind, last.failure.message) if last else (FailureKind.UPSTREAM_UNAVAILABLE, "unknown")
    )
    return CallError(
        kind,
        f"not asked: {place.url} failed {place.breaker.failures} times in a row, the last: {told}",
        retry_after=place.breaker.left(now),
    )
