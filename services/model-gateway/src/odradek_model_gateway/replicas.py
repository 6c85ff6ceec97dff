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
from odradek_model_gateway.gate import Gate
from odradek_model_gateway.limits import Ask, Limits
from odradek_model_gateway.quota import Quota
from odradek_model_gateway.width import Width
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Usage

MOST_OF_A_TRY = 0.9
"""Whoever takes so much of a try's time is ill, even where the call's own deadline comes a moment before."""
_ILL = frozenset({FailureKind.UPSTREAM_UNAVAILABLE, FailureKind.MALFORMED_REPLY})


@dataclass(slots=True)
class Place:
    """One replica as calls see it: where, how much of the whole, how many at once, and how it fares."""

    url: str
    weight: float
    gate: Gate
    breaker: Breaker = field(default_factory=Breaker)
    last_failure: CallError | None = None


@dataclass(slots=True)
class Visit:
    """A call at a replica, whose API's base is `url`. Whoever makes it says what it used."""

    url: str
    usage: Usage = field(default_factory=Usage)


class Replicas:
    """All replicas of the model `name`; `places` in the order of its settings."""

    def __init__(self, settings: ModelSettings, name: str, limits: Limits) -> None:
        self._timeout = settings.timeout_seconds
        self._quota = Quota(name, settings, limits)
        self.places = [_place(replica, settings, limits) for replica in settings.base_url]

    @asynccontextmanager
    async def one_for(self, event: ModelCallRequested, attempt: int) -> AsyncIterator[Visit]:
        """A replica for try number `attempt` (from 1) of a call: its own for the first, then the next ones.

        The time of a try begins when it has its turn. What the call raises within tells how the replica fares.

        Raises:
            CallError: all are ill: as the last call to one of them failed, with the time until it may be asked again;
                or no turn comes before the call's deadline (rate_limited).
            TimeoutError: the try took longer than it may.
        """
        until = asyncio.get_running_loop().time() + event.deadline.timestamp() - time.time()
        order = turned(ranked(self.places, event.rollout_id), attempt - 1)
        while True:
            place = choose(order, time.monotonic())
            ask = self._quota.ask(place.url, place.gate.width.most, event)
            async with place.gate.turn(event.run_id, ask, until):
                if not place.breaker.left(time.monotonic()):
                    async with self._visited(place, ask) as visit:
                        yield visit
                    return
                ask.tokens = 0  # it fell ill meanwhile, or somebody else tries it

    @asynccontextmanager
    async def _visited(self, place: Place, ask: Ask) -> AsyncIterator[Visit]:
        visit, began = Visit(place.url), time.monotonic()
        place.breaker.ask(began)
        try:
            async with asyncio.timeout(self._timeout):
                yield visit
        except CallError as error:
            _note(place, error, began)
            raise
        except (asyncio.CancelledError, TimeoutError):
            self._given_up(place, time.monotonic() - began)
            raise
        place.breaker.succeeded()
        place.gate.width.succeeded(began, time.monotonic(), visit.usage.completion_tokens)
        self._quota.used(ask, visit.usage)

    def _given_up(self, place: Place, seconds: float) -> None:
        """A call was given up: for its run's sake, for its own deadline's, or because a try's whole time has passed."""
        if seconds >= MOST_OF_A_TRY * self._timeout:
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
    return next((place for place in well if not place.gate.full), well[0])


def _place(replica: Replica, settings: ModelSettings, limits: Limits) -> Place:
    return Place(replica.url, replica.weight, Gate(Width(settings.most_at(replica)), limits))


def _distance(place: Place, rollout_id: str) -> float:
    """Exponentially distributed with the replica's weight as its rate: the least is its with its share."""
    digest = blake2b(f"{place.url} {rollout_id}".encode(), digest_size=8).digest()
    uniform = (int.from_bytes(digest) + 1) / (2**64 + 1)
    return -math.log(uniform) / place.weight


def _note(place: Place, error: CallError, began: float) -> None:
    """A refusal is an answer: whoever gives it is well."""
    if error.overloaded:
        place.gate.width.pushed_back(began, time.monotonic())
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
