"""Who waits, and whose turn it is: runs one after another, the calls of each in the order in which they came (pure).

Source: J. Nagle, "On Packet Switches with Infinite Storage" (RFC 970), section 4: a queue for each source, served round
robin, so that whoever asks for much delays himself.
"""

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items that wait, by run. A `ticket` is an item's place in its run's own order; no two are equal."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, list[tuple[int, T]]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __len__(self) -> int:
        return sum(map(len, self._runs.values()))

    def put(self, run: str, ticket: int, item: T) -> None:
        heappush(self._runs.setdefault(run, []), (ticket, item))

    def put_back(self, run: str, ticket: int, item: T) -> None:
        """It had its turn in vain: it is next again."""
        self.put(run, ticket, item)
        self._runs.move_to_end(run, last=False)

    def take(self) -> T:
        """The next; its run is then the last to have a turn again."""
        run, waiting = next(iter(self._runs.items()))
        _ticket, item = heappop(waiting)
        if waiting:
            self._runs.move_to_end(run)
        else:
            del self._runs[run]
        return item

    def remove(self, run: str, ticket: int) -> bool:
        """Whether it still waited."""
        waiting = self._runs.get(run, [])
        kept = [entry for entry in waiting if entry[0] != ticket]
        if len(kept) == len(waiting):
            return False
        heapify(kept)
        if kept:
            self._runs[run] = kept
        else:
            del self._runs[run]
        return True
