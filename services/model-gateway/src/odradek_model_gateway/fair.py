"""Who waits, and whose turn it is: runs one after another, the calls of each in the order in which they came (pure).

Source: P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queuing": each run counts its turns, and who has had the fewest is
next; who comes anew begins where the others are.
"""

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Line(Generic[T]):
    """What waits of one run, and how many turns it has had."""

    turns: int
    waiting: list[tuple[int, T]] = field(default_factory=list)


class FairQueue(Generic[T]):
    """Items that wait, by run. A `ticket` is an item's place in its run's own order; no two are equal."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line[T]] = {}
        self._turn = 0

    def __bool__(self) -> bool:
        return any(line.waiting for line in self._lines.values())

    def __len__(self) -> int:
        return sum(len(line.waiting) for line in self._lines.values())

    def put(self, run: str, ticket: int, item: T, turn: int | None = None) -> None:
        """It waits. `turn`: the one that it had, in vain: its run has not had it, then."""
        line = self._lines.setdefault(run, _Line(self._turn))
        if turn is not None:
            line.turns, self._turn = min(line.turns, turn), min(self._turn, turn)
        elif not line.waiting:
            line.turns = max(line.turns, self._turn)
        heappush(line.waiting, (ticket, item))

    def take(self) -> tuple[int, T]:
        """The next, with the turn that it has."""
        line = min((line for line in self._lines.values() if line.waiting), key=lambda line: line.turns)
        turn = self._turn = line.turns
        line.turns += 1
        _ticket, item = heappop(line.waiting)
        self._tidy()
        return turn, item

    def remove(self, run: str, ticket: int) -> bool:
        """Whether it still waited."""
        line = self._lines.get(run)
        kept = [entry for entry in line.waiting if entry[0] != ticket] if line else []
        if line is None or len(kept) == len(line.waiting):
            return False
        heapify(kept)
        line.waiting = kept
        self._tidy()
        return True

    def _tidy(self) -> None:
        """Runs that wait for nothing are remembered while they are ahead of others that wait."""
        if not self:
            self._turn = max((line.turns for line in self._lines.values()), default=self._turn)
        gone = [run for run, line in self._lines.items() if not line.waiting and line.turns <= self._turn]
        for run in gone:
            del self._lines[run]
