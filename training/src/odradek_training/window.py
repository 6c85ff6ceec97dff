"""How far a partition has been read, and from where it must be read again (pure)."""

from collections import deque
from collections.abc import Callable, Iterator


class Window:
    """The records of one partition that may be needed again: those from the oldest undecided group's on.

    Offsets only grow; between them are other streams' records and the markers of transactions.
    """

    def __init__(self, start: int) -> None:
        self.next = start
        self._held: deque[tuple[int, str]] = deque()

    def hold(self, offset: int, task_id: str) -> None:
        """A record of `task_id` was read."""
        self._held.append((offset, task_id))
        self.next = offset + 1

    def advance(self, offset: int) -> None:
        """All before `offset` has been read."""
        self.next = max(self.next, offset)

    def release(self, decided: Callable[[str], bool]) -> Iterator[str]:
        """Let go of the records at the window's beginning whose groups are decided; yields the task of each."""
        while self._held and decided(self._held[0][1]):
            yield self._held.popleft()[1]

    @property
    def low(self) -> int:
        """The first offset that a restart must read again."""
        return self._held[0][0] if self._held else self.next
