"""A call that is being made or was made lately, and those who listen to it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from odradek.dialects.core import Reply
from odradek.dialects.deltas import Delta, deltas_of


class LiveCall:
    """One call, by its `id` within the program. Whoever listens hears it from the beginning, however late; the end is told
    when it is in the log.

    `digest`: of the request's body; `mark`: its idempotency key. The call goes on when nobody listens any more: a client
    that lost its connection comes back for the answer.
    """

    def __init__(self, digest: str, mark: str | None) -> None:
        self.id = uuid.uuid4().hex[:16]
        self.digest = digest
        self.mark = mark
        self.task: asyncio.Task[None] | None = None
        self._pieces: list[Delta] = []
        self._listeners = 0
        self._grown = asyncio.Event()
        self._outcome: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    @property
    def done(self) -> bool:
        return self._outcome.done()

    @property
    def failed(self) -> bool:
        """Whether it ended without an answer: the next one who asks the same asks anew."""
        outcome = self._outcome
        return outcome.done() and outcome.exception() is not None

    def whenever_done(self, then: Callable[[], None]) -> None:
        """Call `then` when it is over."""
        self._outcome.add_done_callback(lambda _outcome: then())

    def tell(self, delta: Delta) -> None:
        """A piece came. Why it ended and what it cost is kept for the end."""
        self._pieces.append(replace(delta, finish_reason=None, usage=None))
        self._grow()

    def answer(self, reply: Reply) -> None:
        """The whole answer is there, and in the log. Too late for a call that was refused meanwhile."""
        if not self._outcome.done():
            self._outcome.set_result(reply)
            self._grow()
            self._drop_pieces()

    def refuse(self, error: Exception) -> None:
        """There is no answer."""
        if not self._outcome.done():
            self._outcome.set_exception(error)
            self._outcome.exception()  # nobody need be listening
            self._grow()

    async def reply(self) -> Reply:
        """The whole answer. Raises what it was refused with."""
        return await asyncio.shield(self._outcome)

    async def deltas(self) -> AsyncIterator[Delta]:
        """The answer piece by piece. Raises what it was refused with, maybe in the middle."""
        self._listeners += 1
        try:
            told = 0
            async for delta in self._follow():
                yield delta
                told += 1
            reply = await self.reply()
            if told:
                yield Delta(finish_reason=reply.finish_reason, usage=reply.usage)
                return
            for delta in deltas_of(reply):
                yield delta
        finally:
            self._listeners -= 1
            self._drop_pieces()

    async def _follow(self) -> AsyncIterator[Delta]:
        told = 0
        while not self._outcome.done() or told < len(self._pieces):
            if told < len(self._pieces):
                yield self._pieces[told]
                told += 1
            else:
                await self._grown.wait()

    def _drop_pieces(self) -> None:
        """Keep the whole alone, when nobody is in the middle of it."""
        if self._outcome.done() and not self._listeners:
            self._pieces = []

    def _grow(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()
