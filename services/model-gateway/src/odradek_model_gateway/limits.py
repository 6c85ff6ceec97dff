"""What bounds calls besides a replica's own room: one interface, and the bounds of this process alone.

`shared.py` has those of all gateways together.
"""

import time
from dataclasses import dataclass
from typing import Protocol

from odradek_model_gateway.pace import Pace


@dataclass(frozen=True, slots=True)
class Charge:
    """So many units of a limit: `name` says which one, `told` says it to a person. `guessed`: until the call is over."""

    name: str
    told: str
    per_minute: int
    units: int
    guessed: bool = False


@dataclass(slots=True)
class Ask:
    """What a call needs: one of `most` places at a replica, and its charges; `tokens` is what it turned out to use."""

    place: str
    most: int
    charges: tuple[Charge, ...] = ()
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now: `reason` is for a person. `seconds`: when to ask again; `crowded`: or as soon as a call here has ended."""

    reason: str
    seconds: float
    crowded: bool = False


class Limits(Protocol):
    """Who says whether a call may begin. Of one that may the end must be told."""

    async def begin(self, ask: Ask) -> Refusal | None:
        """None: it may. A call that is cancelled here has not begun."""

    @property
    def lost(self) -> bool:
        """Whether they should be those of all gateways and are this one's own for now."""

    def end(self, ask: Ask) -> None:
        """It is over: `ask.tokens` is what it used, None where nobody knows."""


class LocalLimits:
    """The rates of this process. How many calls are under way at a replica its gate counts."""

    lost = False

    def __init__(self) -> None:
        self._paces: dict[str, Pace] = {}

    async def begin(self, ask: Ask) -> Refusal | None:
        now = time.monotonic()
        paces = [(charge, self._pace(charge)) for charge in ask.charges]
        for charge, pace in paces:
            if left := pace.left(charge.units, now):
                return Refusal(charge.told, left)
        for charge, pace in paces:
            pace.take(charge.units, now)
        return None

    def end(self, ask: Ask) -> None:
        for charge, units in corrections(ask):
            self._pace(charge).take(units, time.monotonic())

    def _pace(self, charge: Charge) -> Pace:
        return self._paces.setdefault(charge.name, Pace(charge.per_minute))


def corrections(ask: Ask) -> list[tuple[Charge, int]]:
    """What a guess was short of (or too much, below 0), now that the tokens are known."""
    if ask.tokens is None:
        return []
    return [(charge, ask.tokens - charge.units) for charge in ask.charges if charge.guessed]
