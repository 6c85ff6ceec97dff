"""A server that speaks the protocol of NeMo Gym 0.7's resources servers, and takes nothing that those would not take.

A counter: `seed_session` sets it, two tools read and move it, `verify` compares it. The session is in a signed cookie
that must come back with each request, and that is signed anew with each answer.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from uuid import uuid4

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

COOKIE = "CounterServer___counter"
_SECRET = COOKIE.encode()


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Params(Strict):
    """Of `responses_create_params`, which take no unknown field."""

    input: str | list[dict[str, Any]]
    tools: list[dict[str, Any]] = Field(default_factory=list)
    parallel_tool_calls: bool = True
    tool_choice: Literal["auto", "none", "required"] = "auto"
    temperature: float | None = None
    max_output_tokens: int | None = None
    metadata: dict[str, str] | None = None


class Text(Strict):
    type: Literal["output_text"]
    text: str
    annotations: list[Any]


class Said(Strict):
    type: Literal["message"]
    id: str
    role: Literal["assistant"]
    content: list[Text]
    status: Literal["completed"] = "completed"


class Thought(Strict):
    type: Literal["reasoning"]
    id: str
    summary: list[Any]
    content: list[Any] | None = None


class Called(Strict):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: str | None = None


class Gave(Strict):
    type: Literal["function_call_output"]
    call_id: str
    output: str


Item = Annotated[Said | Thought | Called | Gave, Field(discriminator="type")]


class Response(BaseModel):
    """Of the Responses object, which may have more."""

    id: str
    object: Literal["response"]
    created_at: float
    model: str
    output: list[Item]
    parallel_tool_calls: bool
    tool_choice: str
    tools: list[dict[str, Any]]
    incomplete_details: dict[str, str] | None


class Row(BaseModel):
    responses_create_params: Params
    initial_count: int


class Verify(Row):
    response: Response
    expected_count: int


class Increment(Strict):
    count: int


@dataclass
class Asked:
    """One request: its path, its JSON, the session that its cookie names (None: no valid cookie came)."""

    path: str
    body: Any
    session: str | None


@dataclass
class CounterServer:
    """`verdict` is laid over what `/verify` answers; `answers` replaces the answers of a path, in order."""

    reverify_mode: str = "unsupported"
    verdict: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, list[web.Response]] = field(default_factory=dict)
    delays: dict[str, float] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    url: str = ""
    _signed: int = 0

    @property
    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/reverify_mode", self._mode)
        for path, handler in (
            ("/seed_session", self._seed),
            ("/increment_counter", self._increment),
            ("/get_counter_value", self._value),
            ("/verify", self._verify),
            ("/close_session", self._close),
        ):
            app.router.add_post(path, self._in_session(path, handler))
        return app

    def _in_session(
        self, path: str, handler: Callable[[Any, str], web.Response]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            session = _session_of(request.cookies.get(COOKIE))
            body = await request.json()
            self.asked.append(Asked(path, body, session))
            await asyncio.sleep(self.delays.get(path, 0.0))
            named = session or str(uuid4())
            try:
                answer = self.answers[path].pop(0) if self.answers.get(path) else handler(body, named)
            except ValidationError as error:
                answer = web.json_response({"detail": json.loads(error.json(include_url=False))}, status=422)
            self._signed += 1
            answer.set_cookie(COOKIE, _sign(named, self._signed), httponly=True, samesite="lax")
            return answer

        return handle

    async def _mode(self, request: web.Request) -> web.Response:
        return web.json_response(self.reverify_mode)

    def _seed(self, body: Any, session: str) -> web.Response:
        self.counters[session] = Row.model_validate(body).initial_count
        return web.json_response({})

    def _increment(self, body: Any, session: str) -> web.Response:
        count = Increment.model_validate(body).count
        if session not in self.counters:
            return _lost()
        self.counters[session] += count
        return web.json_response({"success": True})

    def _value(self, body: Any, session: str) -> web.Response:
        return (
            _lost() if session not in self.counters else web.json_response({"count": self.counters[session]})
        )

    def _verify(self, body: Any, session: str) -> web.Response:
        expected = Verify.model_validate(body).expected_count
        if session not in self.counters:
            return _lost()
        reward = float(self.counters[session] == expected)
        return web.json_response({**body, "reward": reward, "mask_sample": False, **self.verdict})

    def _close(self, body: Any, session: str) -> web.Response:
        if body:
            return web.json_response({"detail": "an empty body closes the cookie's session"}, status=422)
        self.counters.pop(session, None)
        return web.json_response({"closed": True})


def _lost() -> web.Response:
    detail = "Session not initialized. Please call seed_session first."
    return web.json_response({"detail": detail}, status=400)


def _sign(session: str, number: int) -> str:
    payload = base64.b64encode(json.dumps({"session_id": session}).encode()).decode() + f".{number}"
    return f"{payload}.{_signature(payload)}"


def _session_of(cookie: str | None) -> str | None:
    payload, _, signature = (cookie or "").rpartition(".")
    if not payload or not hmac.compare_digest(signature, _signature(payload)):
        return None
    return str(json.loads(base64.b64decode(payload.split(".")[0]))["session_id"])


def _signature(payload: str) -> str:
    return base64.urlsafe_b64encode(hmac.digest(_SECRET, payload.encode(), hashlib.sha1)).decode()


@asynccontextmanager
async def serving(server: CounterServer, port: int = 0) -> AsyncIterator[CounterServer]:
    """Let it answer on a port of this machine."""
    runner = web.AppRunner(server.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    try:
        await site.start()
        bound = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{bound}"
        yield server
    finally:
        await runner.cleanup()
