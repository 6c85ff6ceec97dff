"""The model gateway as programs need it: whether anybody is there."""

import asyncio
import time
from contextlib import suppress
from urllib.parse import urlsplit

CONNECT_SECONDS = 2.0
BACK_SECONDS = 20.0
"""How long a program that failed while the gateway was away keeps its place until it is back: a new attempt would fail too."""
LOOK_SECONDS = 0.2


class Gateway:
    """By its URL, without /v1."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)

    async def is_there(self) -> bool:
        """Whether it takes connections now."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _reader, writer = await asyncio.open_connection(self._host, self._port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True

    async def comes_back(self, seconds: float = BACK_SECONDS) -> bool:
        """Wait for it, no longer than that."""
        until = time.monotonic() + seconds
        while not await self.is_there():
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(LOOK_SECONDS)
        return True
