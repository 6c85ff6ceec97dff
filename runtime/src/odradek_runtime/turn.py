"""A turn of the event loop, and how much all partitions of a worker may begin in it together."""

import asyncio
from collections import deque
from collections.abc import Callable

MOST_BEGUN = 64
"""Were thousands of records begun at once, as after a restart, each of their further steps would come all at once,
too: turns of seconds, in which no heartbeat is sent."""


class Turn:
    """Hands out the right to begin; who comes away empty-handed is called in the next turn, in the order of asking."""

    def __init__(self, most: int = MOST_BEGUN) -> None:
        self._most = most
        self._left = most
        self._waiting: deque[Callable[[], None]] = deque()

    def take(self, again: Callable[[], None]) -> bool:
        """Whether one record more may be begun in this turn. If not, `again` is called when it is worth asking."""
        if self._left == self._most:
            asyncio.get_running_loop().call_soon(self._next)
        if self._left:
            self._left -= 1
            return True
        if again not in self._waiting:
            self._waiting.append(again)
        return False

    def _next(self) -> None:
        """Those for whom nothing is left come first in the turn after."""
        self._left = self._most
        for _ in range(len(self._waiting)):
            if not self._left:
                return
            self._waiting.popleft()()
