"""The way into one replica: no more calls at once than it bears, none before its limits let it, each run in turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from odradek_model_gateway.failures import CallError
from odradek_model_gateway.fair import FairQueue
from odradek_model_gateway.limits import Ask, Limits, Refusal
from odradek_model_gateway.width import Width
from odradek_schemas.failures import FailureKind

LAST_WORD_SECONDS = 0.05
"""How long before its own deadline a call that waits says why."""

_tickets = count()


class Gate:
    """Lets calls in, and knows how many are under way.

    Those that are let in ask the limits, all at a time for whom there is room. After a refusal nobody asks until the
    time that it told; then one does, two when that one may begin, four, and so on.
    """

    def __init__(self, width: Width, limits: Limits) -> None:
        self.width = width
        self.under_way = 0
        self._limits = limits
        self._queue: FairQueue[asyncio.Future[int]] = FairQueue()
        self._asking = 0
        self._breadth = width.most
        self._refusal: Refusal | None = None
        self._closed: asyncio.TimerHandle | None = None  # until the time that the refusal told

    @property
    def full(self) -> bool:
        """Whether it has no place now. That a rate is used up is no reason to go elsewhere: it is used up there too."""
        return self.under_way >= self.width.calls or self._crowded

    @property
    def waiting(self) -> int:
        """Calls that have no turn yet."""
        return len(self._queue)

    @property
    def closed(self) -> bool:
        """Whether a limit lets nobody begin now."""
        return self._closed is not None

    @asynccontextmanager
    async def turn(self, run: str, ask: Ask, until: float) -> AsyncIterator[None]:
        """Wait for a turn, and hold a place. `until`: the time of the loop at which nobody waits for the call any more.

        Raises:
            CallError: no turn would come before that (rate_limited).
        """
        try:
            async with asyncio.timeout_at(until - LAST_WORD_SECONDS):
                await self._begin(run, ask, until)
        except TimeoutError as error:
            raise self._too_late(ask, self._refusal) from error
        try:
            yield
        finally:
            self._limits.end(ask)
            self._leave()

    async def _begin(self, run: str, ask: Ask, until: float) -> None:
        ticket, loop = next(_tickets), asyncio.get_running_loop()
        turn = await self._enter(run, ticket)
        while refusal := await self._refused(ask):
            if not refusal.crowded and loop.time() + refusal.seconds >= until:
                raise self._too_late(ask, refusal)
            turn = await self._enter(run, ticket, turn)

    async def _enter(self, run: str, ticket: int, in_vain: int | None = None) -> int:
        """Wait for room, and for those whose turn is before; `in_vain`: the turn that it had already. Its turn."""
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._queue.put(run, ticket, turn, in_vain)
        self._admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._queue.remove(run, ticket)
            else:
                self._asking -= 1
                self._leave()
            raise

    async def _refused(self, ask: Ask) -> Refusal | None:
        """Ask the limits. Whoever is refused has left again."""
        try:
            refusal = await self._limits.begin(ask)
        except BaseException:
            self._asking -= 1
            self._leave()
            raise
        self._asking -= 1
        if refusal is None:
            self._widen()
        else:
            self.under_way -= 1
            self._close(refusal)
        return refusal

    def _leave(self) -> None:
        self.under_way -= 1
        if self._crowded:
            self._reopen()
        else:
            self._admit()

    def _widen(self) -> None:
        if self._closed is None:
            self._refusal = None
            self._breadth = min(self.width.most, 2 * self._breadth)
        self._admit()

    def _close(self, refusal: Refusal) -> None:
        """Nobody asks until then: of several refusals the shortest counts."""
        self._breadth = 1
        loop = asyncio.get_running_loop()
        if self._closed and self._closed.when() <= loop.time() + refusal.seconds:
            return
        if self._closed:
            self._closed.cancel()
        self._refusal = refusal
        self._closed = loop.call_later(refusal.seconds, self._reopen)

    def _reopen(self) -> None:
        if self._closed:
            self._closed.cancel()
            self._closed = None
        self._admit()

    @property
    def _crowded(self) -> bool:
        """Whether it is closed because other gateways' calls have all places."""
        return self._closed is not None and self._refusal is not None and self._refusal.crowded

    @property
    def _open(self) -> bool:
        room = self.under_way < self.width.calls and self._asking < self._breadth
        return room and self._closed is None

    def _admit(self) -> None:
        while self._queue and self._open:
            number, turn = self._queue.take()
            if not turn.cancelled():
                self.under_way += 1
                self._asking += 1
                turn.set_result(number)

    def _too_late(self, ask: Ask, refusal: Refusal | None) -> CallError:
        reason = (
            refusal.reason if refusal else f"{self.under_way} calls are under way, and it bears no more now"
        )
        message = f"no turn at {ask.place} before the call's deadline: {reason}"
        after = max(refusal.seconds if refusal else 0.0, 2 * LAST_WORD_SECONDS)
        return CallError(FailureKind.RATE_LIMITED, message, retry_after=after)
