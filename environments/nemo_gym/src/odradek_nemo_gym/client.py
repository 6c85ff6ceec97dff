"""Asking a resources server. Its failures are typed; deadlines are those of the session's actions, around all of it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
)
from pydantic import JsonValue
from pydantic_core import to_json

from odradek import WorldFailed
from odradek_schemas.failures import FailureKind

MOST_BYTES = 64 << 20
"""Of one answer."""
_CONNECT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 2.0
_AWAY = frozenset({502, 503, 504})
"""What a proxy says in a server's place."""
_KEPT_OUT = frozenset({401, 403, 407})


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server said. `cookies`: those that it set, values as they came."""

    status: int
    text: str
    cookies: dict[str, str]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class Client:
    """Keeps connections; to be used from one event loop at a time."""

    def __init__(self) -> None:
        self._session: ClientSession | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def get(self, url: str) -> HttpAnswer:
        """As `post`, without patience."""
        return await self._ask("GET", url, None, {})

    async def post(
        self, url: str, body: JsonValue, cookies: Mapping[str, str], patience: float = 0.0
    ) -> HttpAnswer:
        """POST JSON. A server that takes no connection is asked again for `patience` seconds: nothing has reached it.

        Raises:
            WorldFailed: nobody is there, the connection broke, a proxy says that nobody is there, the server does not
                let us in, or its answer is longer than `MOST_BYTES`.
        """
        until = time.monotonic() + patience
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._ask("POST", url, body, cookies)
            except _NotConnected:
                if time.monotonic() + pause > until:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _ask(self, method: str, url: str, body: JsonValue, cookies: Mapping[str, str]) -> HttpAnswer:
        headers = {"Content-Type": "application/json"}
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        data = None if method == "GET" else to_json(body)
        try:
            async with self._open().request(method, url, data=data, headers=headers) as response:
                return _checked(url, await _read(url, response))
        except ClientConnectorError as error:
            raise _NotConnected(url, error) from error
        except (ClientError, TimeoutError) as error:
            raise _unavailable(url, f"{type(error).__name__}: {error}") from error

    def _open(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._keeping is None or self._keeping.get_loop() is not loop:
            timeout = ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
            self._session = ClientSession(cookie_jar=DummyCookieJar(), timeout=timeout)
            self._keeping = loop.create_task(_keep(self._session))
        return self._session


async def _keep(session: ClientSession) -> None:
    """For as long as the event loop runs, which ends by cancelling its tasks."""
    async with session:
        await asyncio.Event().wait()


class _NotConnected(WorldFailed):
    """Nothing has reached the server."""

    def __init__(self, url: str, error: OSError) -> None:
        message = f"no NeMo Gym server takes connections at {url}: {error}; start it, or set server_url"
        super().__init__(FailureKind.UPSTREAM_UNAVAILABLE, message)


def _unavailable(url: str, reason: str) -> WorldFailed:
    return WorldFailed(
        FailureKind.UPSTREAM_UNAVAILABLE, f"the NeMo Gym server did not answer at {url}: {reason}"
    )


async def _read(url: str, response: ClientResponse) -> HttpAnswer:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MOST_BYTES:
            raise WorldFailed(FailureKind.MALFORMED_REPLY, f"{url} answered more than {MOST_BYTES} bytes")
    cookies = {name: morsel.coded_value for name, morsel in response.cookies.items()}
    return HttpAnswer(response.status, content.decode(errors="replace"), cookies)


def _checked(url: str, answer: HttpAnswer) -> HttpAnswer:
    if answer.status in _AWAY:
        raise _unavailable(url, f"HTTP {answer.status}")
    if answer.status in _KEPT_OUT:
        raise WorldFailed(FailureKind.AUTH, f"{url} does not let us in: HTTP {answer.status}")
    return answer
