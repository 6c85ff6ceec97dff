"""A stream for trainers that have no event loop: the same, in a thread with a loop of its own."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from odradek_schemas.base import JsonObject
from odradek_training.group import Group
from odradek_training.stats import Stats

if TYPE_CHECKING:
    from odradek_training.stream import RewardStream

_T = TypeVar("_T")


class SyncRewardStream:
    """Iterates over the groups of a `RewardStream`; see there. Made by `RewardStream.sync`."""

    def __init__(self, stream: "RewardStream") -> None:
        self._stream = stream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="reward-stream", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._run(self._stream.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._run(self._stream.__aexit__(kind, error, trace))
        finally:
            self._end()

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        async def following() -> Group | None:
            return await anext(self._stream, None)

        group = self._run(following())
        if group is None:
            raise StopIteration
        return group

    def want(self, groups: int) -> None:
        """See `RewardStream.want`."""
        self._run(self._stream.want(groups))

    def position(self) -> JsonObject:
        """See `RewardStream.position`."""

        async def position() -> JsonObject:
            return self._stream.position()

        return self._run(position())

    def stats(self) -> Stats:
        """See `RewardStream.stats`."""

        async def stats() -> Stats:
            return self._stream.stats()

        return self._run(stats())

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for something that runs in the stream's loop; an interrupt of the wait cancels it."""
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
