"""`GET /v1/rewards/stream`: reward streams for trainers that speak HTTP alone."""

import json

from aiohttp import web

from odradek_runtime.logs import get_logger
from odradek_training.cursor import from_cursor
from odradek_training.deployment import Deployment
from odradek_training.errors import (
    PositionDiffers,
    PositionLost,
    RunDiffers,
    RunNotFound,
    StreamError,
    StreamUnreachable,
)
from odradek_training.server_events import events
from odradek_training.server_query import StreamQuery
from odradek_training.stream import RewardStream

PATH = "/v1/rewards/stream"
HEARTBEAT_SECONDS = 15.0
STOP_SECONDS = 2.0
MOST_STREAMS = 64
"""Each has a consumer of its own."""
_MOST_HEADER_BYTES = 64 * 1024
"""A position is sent back as a header."""
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (RunNotFound, 404),
    (RunDiffers, 409),
    (PositionDiffers, 400),
    (PositionLost, 410),
    (StreamUnreachable, 503),
    (StreamError, 500),
    (ValueError, 400),
)

log = get_logger(__name__)


class RewardServer:
    """Serves the rewards of one deployment at `host`:`port`; port 0: a free one, which `port` tells."""

    def __init__(
        self, deployment: Deployment, host: str, port: int, heartbeat: float = HEARTBEAT_SECONDS
    ) -> None:
        self._deployment = deployment
        self._host, self.port = host, port
        self._heartbeat = heartbeat
        self._streams = 0
        app = web.Application()
        app.router.add_get(PATH, self._stream)
        app.router.add_get("/healthz", self._healthz)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            handler_cancellation=True,
            shutdown_timeout=STOP_SECONDS,
            max_line_size=_MOST_HEADER_BYTES,
            max_field_size=_MOST_HEADER_BYTES,
        )

    @property
    def url(self) -> str:
        """Of the stream, once it listens."""
        return f"http://{self._host}:{self.port}{PATH}"

    async def start(self) -> None:
        """Listen. Raises OSError: it can't."""
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self.port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if self._streams >= MOST_STREAMS:
            return _refused(503, f"{MOST_STREAMS} streams are open: close one, or start another server")
        self._streams += 1
        try:
            async with self._opened(request) as stream:
                return await self._send(request, stream)
        except (StreamError, ValueError) as error:
            status = next(status for kind, status in _STATUS if isinstance(error, kind))
            return _refused(status, str(error))
        finally:
            self._streams -= 1

    def _opened(self, request: web.Request) -> RewardStream:
        query = StreamQuery.read(request.query.items())
        cursor = request.headers.get("Last-Event-ID") or query.last_event_id
        position = from_cursor(cursor) if cursor else None
        return RewardStream(self._deployment, position=position, **query.parameters)

    async def _send(self, request: web.Request, stream: RewardStream) -> web.StreamResponse:
        """Write the events, as fast as the client takes them; it may go at any time."""
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        try:
            async for event in events(stream, self._heartbeat):
                await response.write(event)
            await response.write_eof()
        except ConnectionResetError:
            log.info("a client left its stream", path=request.path_qs)
        return response


def _refused(status: int, message: str) -> web.Response:
    return web.Response(
        text=json.dumps({"error": {"message": message}}), status=status, content_type="application/json"
    )
