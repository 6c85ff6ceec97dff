"""The HTTP server: routes, and what is common to all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from aiohttp import web

from odradek_model_gateway.failures import CallError
from odradek_model_gateway.front.dialects import CHAT, MESSAGES, SERVED, Served
from odradek_model_gateway.front.refusals import (
    BAD_TOKEN,
    INTERNAL,
    MEANINGS,
    NOT_FOUND,
    NOT_LOGGED,
    Meaning,
    Refusal,
)
from odradek_runtime.access import AccessError
from odradek_runtime.log_writer import NotWrittenError
from odradek_runtime.logs import get_logger
from odradek_schemas.failures import FailureKind

MOST_BODY_BYTES = 64 * 2**20
STOP_SECONDS = 2.0
"""How long answers that are being written hold up the end."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
log = get_logger(__name__)


class Server:
    """Serves `routes` ((method, path) to handler) at `host`:`port`; port 0: a free one, which `port` tells."""

    def __init__(self, routes: Mapping[tuple[str, str], Handler], host: str, port: int) -> None:
        app = web.Application(middlewares=[_refusing], client_max_size=MOST_BODY_BYTES)
        for (method, path), handler in routes.items():
            app.router.add_route(method, path, handler)
        self._runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=STOP_SECONDS
        )
        self._host, self.port = host, port

    async def start(self) -> None:
        """Listen. Raises OSError: it can't."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        log.info("serving models", host=self._host, port=self.port, paths=[served.path for served in SERVED])

    async def stop(self) -> None:
        await self._runner.cleanup()


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        body=orjson.dumps(content), status=status, headers=headers, content_type="application/json"
    )


def refused(served: Served, refusal: Refusal) -> web.Response:
    """The refusal in the dialect's own shape. It was tried again here already: the SDKs need not (`x-should-retry`)."""
    headers = {"x-should-retry": "true" if refusal.again else "false"}
    return json_response(served.error(refusal), refusal.meaning.status, headers)


def dialect_of(path: str) -> Served:
    """The dialect in which errors at `path` are told."""
    return MESSAGES if path.startswith(MESSAGES.path) else next((s for s in SERVED if s.path == path), CHAT)


@web.middleware
async def _refusing(request: web.Request, handler: Handler) -> web.StreamResponse:
    served = dialect_of(request.path)
    try:
        return await handler(request)
    except Refusal as refusal:
        return refused(served, refusal)
    except CallError as error:
        return refused(served, Refusal.of(error.failure))
    except NotWrittenError as error:
        return refused(served, Refusal(NOT_LOGGED, str(error)))
    except AccessError as error:
        return refused(served, Refusal(BAD_TOKEN, str(error)))
    except TimeoutError:
        message = "the upstream did not answer in time"
        return refused(served, Refusal(MEANINGS[FailureKind.MODEL_DEADLINE], message))
    except web.RequestPayloadError as error:
        return refused(
            served, Refusal(MEANINGS[FailureKind.INVALID_REQUEST], f"the body can't be read: {error}")
        )
    except web.HTTPException as error:
        return refused(served, _of_http(request, error))
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception as error:
        log.error("request can't be answered", path=request.path, exc_info=error)
        return refused(served, Refusal(INTERNAL, f"internal error: {error!r}"))


def _of_http(request: web.Request, error: web.HTTPException) -> Refusal:
    if error.status == 404:
        paths = ", ".join(served.path for served in SERVED)
        return Refusal(NOT_FOUND, f"{request.method} {request.path} is not served here; there are {paths}")
    invalid = MEANINGS[FailureKind.INVALID_REQUEST]
    meaning = Meaning(error.status, invalid.type, None, invalid.messages_type)
    return Refusal(meaning, f"{request.method} {request.path}: {error.reason}")
