"""Upstreams over HTTP: one client session per process, a bound on requests at once, replicas by rollout."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

from odradek.dialects.core import Reply
from odradek.dialects.deltas import deltas_of
from odradek.models import ModelSettings
from odradek.redaction import without
from odradek_model_gateway.failures import CallError, from_exception, from_status
from odradek_model_gateway.limits import Limits, LocalLimits
from odradek_model_gateway.replicas import Place, Replicas, Visit
from odradek_model_gateway.replies import Tell, read_reply, read_stream
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.failures import FailureKind

# Below the 5 s after which uvicorn, and so vLLM, closes an idle connection: a request must not meet that.
KEEPALIVE_SECONDS = 4.0
REQUEST_ID = "x-request-id"

MOST_OPENING = 32
"""Connections that are being opened at once: to open one takes the event loop longer than all else of a call, and
thousands in one turn would hold up the heartbeat (and overrun the server's backlog)."""

_HEADERS = {"Content-Type": "application/json", "User-Agent": "odradek-model-gateway"}
_NO_TIMEOUT = ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class Connector(TCPConnector):
    """Opens a bounded number of connections at a time."""

    def __init__(self, connections: int) -> None:
        super().__init__(limit=connections, keepalive_timeout=KEEPALIVE_SECONDS)
        self._opening = asyncio.Semaphore(MOST_OPENING)

    async def _create_connection(self, *args: Any, **kwargs: Any) -> Any:
        async with self._opening:
            return await super()._create_connection(*args, **kwargs)


class HttpClient:
    """The process's one client session, opened when first used, closed when its last user has left."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._session: ClientSession | None = None
        self._users = 0

    def join(self) -> None:
        self._users += 1

    async def leave(self) -> None:
        self._users -= 1
        if self._users == 0 and self._session is not None:
            session, self._session = self._session, None
            await session.close()

    @property
    def session(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession(
                connector=Connector(self._connections),
                cookie_jar=DummyCookieJar(),
                timeout=_NO_TIMEOUT,
                skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
            )
        return self._session


class Upstream:
    """One model's upstream, asked with the API `key`. Cancelling a `post` closes its connection.

    `name` is what the model is called here, and its limits by; without `limits` it has its own.
    """

    def __init__(
        self,
        settings: ModelSettings,
        client: HttpClient,
        key: str | None = None,
        name: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.settings = settings
        self._client = client
        self._replicas = Replicas(settings, name or settings.model, limits or LocalLimits())
        self._path = settings.asked_as.path
        self._key = key
        self._headers = {**_HEADERS, **settings.asked_as.headers}
        if key is not None:
            self._headers |= settings.asked_as.authorization(key)

    @property
    def places(self) -> Sequence[Place]:
        """Its replicas, in the order of the settings."""
        return self._replicas.places

    async def post(self, body: bytes, event: ModelCallRequested, attempt: int) -> Reply:
        """Make try number `attempt` (from 1) of a call: at the rollout's own replica, then at the next ones.

        Raises:
            CallError: no turn, no connection, closed, a response that does not end, a refusal, or a reply that can't be
                read.
            TimeoutError: no answer within the time of a try.
        """
        async with self._asked(self._path, body, event, attempt) as (response, visit):
            reply = read_reply(await self._whole(response), event.id, self.settings.asked_as.dialect)
            visit.usage = reply.usage
            return reply

    async def stream(self, body: bytes, event: ModelCallRequested, attempt: int, tell: Tell) -> Reply:
        """The same with a `body` that asks for a stream; each piece is told as it comes.

        Raises:
            CallError, TimeoutError: as `post`, also after pieces have been told.
        """
        dialect = self.settings.asked_as.dialect
        async with self._asked(self._path, body, event, attempt) as (response, visit):
            if response.content_type == "text/event-stream":
                reply = await read_stream(self._chunks(response), event.id, dialect, tell)
            else:
                reply = read_reply(await self._whole(response), event.id, dialect)
                for delta in deltas_of(reply):
                    tell(delta)
            visit.usage = reply.usage
            return reply

    async def forward(self, path: str, body: bytes, event: ModelCallRequested) -> bytes:
        """Ask `path` of the upstream's API, once; what it answers as it came. Raises CallError, TimeoutError."""
        async with self._asked(path, body, event, 1) as (response, _visit):
            return await self._whole(response)

    @asynccontextmanager
    async def _asked(
        self, path: str, body: bytes, event: ModelCallRequested, attempt: int
    ) -> AsyncIterator[tuple[ClientResponse, Visit]]:
        """A 200 of the replica whose turn it is; what is raised within counts for the replica too."""
        headers = {**self._headers, REQUEST_ID: _header(event.id)}
        async with self._replicas.one_for(event, attempt) as visit:
            try:
                async with self._client.session.post(
                    f"{visit.url}{path}", data=body, headers=headers, allow_redirects=False
                ) as response:
                    if response.status != 200:
                        told = await self._whole(response)
                        raise from_status(
                            response.status, response.headers.get("Retry-After"), told, time.time()
                        )
                    yield response, visit
            except (ClientError, OSError) as error:
                raise from_exception(error) from error

    async def _whole(self, response: ClientResponse) -> bytes:
        """All of a response, less the API key: whatever a server repeats of it ends in the log."""
        return without(b"".join([chunk async for chunk in self._chunks(response)]), self._key)

    async def _chunks(self, response: ClientResponse) -> AsyncIterator[bytes]:
        most, size = self.settings.max_response_bytes, 0
        while chunk := await response.content.readany():
            size += len(chunk)
            if size > most:
                response.close()
                raise CallError(FailureKind.UPSTREAM_UNAVAILABLE, f"the response is longer than {most} bytes")
            yield without(chunk, self._key)


def _header(text: str) -> str:
    """`text` as a header can carry it: ids are plain, but a forged one must not end the header."""
    return text if text.isascii() and text.isprintable() else quote(text, safe="/")
