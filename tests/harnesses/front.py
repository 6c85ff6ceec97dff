"""The gateway's part in these tests: three dialects in front, chat completions behind."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from aiohttp import ClientSession, web

from odradek.dialects import chat, messages, responses
from odradek.dialects.core import DialectError, Reply
from odradek.dialects.deltas import deltas_of
from odradek.dialects.responses.tools import read_forms
from odradek.dialects.sse import DONE, write_event
from tests.harnesses.agent_model import on_loopback

DIALECTS: dict[str, Any] = {"chat": chat, "responses": responses, "messages": messages}


class Front:
    """`asked`: the dialect of each call, and whether it was to be streamed. `refused`: what was not understood."""

    def __init__(self, upstream: str, token: str) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.refused: list[str] = []
        self._upstream = upstream
        self._token = token

    async def answer(self, name: str, request: web.Request) -> web.StreamResponse:
        if self._token not in (
            request.headers.get("Authorization", "")[7:],
            request.headers.get("x-api-key"),
        ):
            return web.json_response(_error("no such key"), status=401)
        body = await request.json()
        try:
            asked = DIALECTS[name].read_request(body)
        except DialectError as error:
            self.refused.append(str(error))
            return web.json_response(_error(str(error)), status=400)
        self.asked.append((name, bool(body.get("stream"))))
        written = chat.write_request(asked, body["model"])
        status, answered = await self._ask(json.dumps(written, default=_plain))
        if status != 200:
            return web.json_response(_error("the model refuses"), status=status)
        return await _answer(request, name, body, chat.read_reply(answered, "call"))

    async def unknown(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            self.refused.append(f"{request.method} {request.path_qs}")
        return web.json_response(_error("there is nothing here"), status=404)

    async def _ask(self, body: str) -> tuple[int, Any]:
        async with (
            ClientSession(headers={"Content-Type": "application/json"}) as session,
            session.post(f"{self._upstream}/chat/completions", data=body) as response,
        ):
            return response.status, await response.json()


@asynccontextmanager
async def fronting(front: Front) -> AsyncIterator[str]:
    """Serve it; yields the URL without /v1."""
    app = web.Application(client_max_size=64 << 20)
    app.add_routes(
        [
            web.post("/v1/chat/completions", partial(front.answer, "chat")),
            web.post("/v1/responses", partial(front.answer, "responses")),
            web.post("/v1/messages", partial(front.answer, "messages")),
            web.route("*", "/{path:.*}", front.unknown),
        ]
    )
    async with on_loopback(app) as url:
        yield url


async def _answer(request: web.Request, name: str, body: Any, reply: Reply) -> web.StreamResponse:
    dialect, model = DIALECTS[name], body["model"]
    more = {"forms": read_forms(body.get("tools"))} if name == "responses" else {}
    if not body.get("stream"):
        return web.json_response(dialect.write_reply(reply, "r1", model, 1, **more))
    writer = dialect.StreamWriter("r1", model, 1, **more)
    events = [event for delta in deltas_of(reply) for event in writer.write(delta)]
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for event in events:
        await response.write(write_event(json.dumps(event).encode(), event.get("type")))
    if name == "chat":
        await response.write(write_event(DONE.encode()))
    return response


def _plain(value: Any) -> Any:
    return value.model_dump(exclude_none=True)


def _error(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"message": message, "type": "invalid_request_error", "code": None}}
