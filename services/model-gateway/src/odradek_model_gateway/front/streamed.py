"""An answer that is written piece by piece: its status is 200, and whatever goes wrong is an event, or the connection's end."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping

from aiohttp import web

from odradek.dialects.core import DialectError
from odradek.dialects.deltas import Delta
from odradek_model_gateway.front.dialects import Served, Writer
from odradek_model_gateway.front.refusals import MEANINGS, Refusal
from odradek_schemas.base import JsonObject
from odradek_schemas.failures import FailureKind

_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class StreamedAnswer:
    """One streamed answer."""

    def __init__(
        self, request: web.Request, served: Served, writer: Writer, headers: Mapping[str, str]
    ) -> None:
        self.response = web.StreamResponse(headers={**_HEADERS, **headers})
        self._request = request
        self._served = served
        self._writer = writer

    async def write(self, first: Delta, deltas: AsyncIterator[Delta], within: asyncio.Timeout) -> None:
        """Write all of it. A client that has gone, or does not read in time, loses its connection; its call goes on."""
        try:
            async with within:
                await self._write(first, deltas)
        except (ConnectionError, TimeoutError):
            if self._request.transport is not None:
                self._request.transport.abort()

    async def _write(self, first: Delta, deltas: AsyncIterator[Delta]) -> None:
        await self.response.prepare(self._request)
        try:
            await self._events(self._writer.write(first))
            async for delta in deltas:
                await self._events(self._writer.write(delta))
            await self.response.write(self._served.last)
        except (Refusal, DialectError) as error:
            await self.response.write(self._served.event(self._served.error(_refusal(error))))
        await self.response.write_eof()

    async def _events(self, events: Iterable[JsonObject]) -> None:
        if data := b"".join(map(self._served.event, events)):
            await self.response.write(data)


def _refusal(error: Refusal | DialectError) -> Refusal:
    if isinstance(error, Refusal):
        return error
    return Refusal(MEANINGS[FailureKind.INVALID_REQUEST], str(error))
