"""What is served: calls in three dialects, the models there are, embeddings, counted tokens, and the policy's version."""

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import orjson
from aiohttp import web

from odradek.dialects.core import DialectError
from odradek_model_gateway.front.calls import Calls, Question
from odradek_model_gateway.front.dialects import SERVED, Asking, Served
from odradek_model_gateway.front.live import LiveCall
from odradek_model_gateway.front.refusals import MEANINGS, Refusal
from odradek_model_gateway.front.server import Handler, dialect_of, json_response
from odradek_model_gateway.front.tokens import Tokens
from odradek_model_gateway.gateway import Gateway
from odradek_runtime.access import Access
from odradek_runtime.log_writer import LogWriter
from odradek_schemas.base import JsonObject
from odradek_schemas.events import ModelCallRequested, PolicyUpdated
from odradek_schemas.failures import FailureKind
from odradek_schemas.topics import CONTROL

BYTES_PER_TOKEN = 4
"""For an upstream that does not count: what English text comes to."""
_INVALID = MEANINGS[FailureKind.INVALID_REQUEST]
_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class Routes:
    """The handlers of all paths."""

    def __init__(self, tokens: Tokens, gateway: Gateway, calls: Calls, writer: LogWriter) -> None:
        self._tokens = tokens
        self._gateway = gateway
        self._calls = calls
        self._writer = writer

    def table(self) -> Mapping[tuple[str, str], Handler]:
        """(method, path) to handler."""
        calls: dict[tuple[str, str], Handler] = {("POST", s.path): self.answer for s in SERVED}
        return {
            **calls,
            ("POST", "/v1/messages/count_tokens"): self.count_tokens,
            ("POST", "/v1/embeddings"): self.embed,
            ("GET", "/v1/models"): self.list_models,
            ("GET", "/v1/models/{model:.+}"): self.show_model,
            ("PUT", "/v1/policy"): self.set_policy,
            ("GET", "/"): self.greet,
            ("HEAD", "/"): self.greet,  # some programs look whether anybody is there; HEAD too
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One model call, streamed where the client asks for that."""
        served, access = dialect_of(request.path), self._tokens.program(request)
        asked = _object(await request.read())
        self._check_model(access, asked)
        question = _question(request, served, asked)
        call = self._calls.ask(access, question)
        asking = Asking(asked, call.id, access.model, int(time.time()))
        if question.streamed:
            return await _stream(request, served, asking, call)
        reply = await call.reply()
        return json_response(served.reply(reply, asking), headers=_ids(call))

    async def count_tokens(self, request: web.Request) -> web.Response:
        """How long a prompt is: as the upstream counts where it speaks Messages, else by the length of its text."""
        access = self._tokens.program(request)
        body = await request.read()
        asked = _object(body)
        self._check_model(access, asked)
        upstream = self._gateway.find(access.model)
        if upstream.settings.kind == "anthropic":
            mine = orjson.dumps({**asked, "model": upstream.settings.model})
            told = await upstream.forward("/messages/count_tokens", mine, _errand(access, access.model))
            return web.Response(body=told, content_type="application/json")
        return json_response({"input_tokens": -(-len(body) // BYTES_PER_TOKEN)})

    async def embed(self, request: web.Request) -> web.Response:
        """Embeddings, as the upstream of the model that is asked for makes them; no tokens are sampled, none is logged."""
        access = self._tokens.program(request)
        asked = _object(await request.read())
        model = str(asked.get("model"))
        upstream = self._gateway.find(model)
        mine = orjson.dumps({**asked, "model": upstream.settings.model})
        told = await upstream.forward("/embeddings", mine, _errand(access, model))
        return web.Response(body=told, content_type="application/json")

    async def list_models(self, request: web.Request) -> web.Response:
        """The one model that the token grants."""
        model = _model(self._tokens.program(request).model)
        listed: JsonObject = {"object": "list", "data": [model], "has_more": False}
        return json_response({**listed, "first_id": model["id"], "last_id": model["id"]})

    async def show_model(self, request: web.Request) -> web.Response:
        access = self._tokens.program(request)
        self._check_model(access, {"model": request.match_info["model"]})
        return json_response(_model(access.model))

    async def set_policy(self, request: web.Request) -> web.Response:
        """From now on `model` serves version `version`: each call says which one answered it."""
        self._tokens.trainer(request)
        asked = _object(await request.read())
        model, version = asked.get("model"), asked.get("version")
        if not isinstance(model, str) or not isinstance(version, str) or not version:
            raise Refusal(_INVALID, 'give {"model": "its name", "version": "the policy\'s version"}')
        self._gateway.find(model)
        event = PolicyUpdated(id=f"policy/{model}/{version}", model=model, version=version)
        await self._writer.write(CONTROL.name, event, 0)
        return json_response({"model": model, "version": version})

    async def greet(self, request: web.Request) -> web.Response:
        return json_response({"service": "odradek-model-gateway"})

    def _check_model(self, access: Access, asked: JsonObject) -> None:
        if asked.get("model") != access.model:
            meaning = MEANINGS[FailureKind.UNKNOWN_MODEL]
            raise Refusal(
                meaning, f"this token asks {access.model!r} alone, not {asked.get('model')!r}", "model"
            )


async def _stream(request: web.Request, served: Served, asking: Asking, call: LiveCall) -> web.StreamResponse:
    """Nothing is sent before there is a first piece: until then a failure has a status of its own."""
    deltas = call.deltas()
    first = await anext(deltas)
    writer = served.writer(asking)
    response = web.StreamResponse(headers={**_HEADERS, **_ids(call)})
    await response.prepare(request)
    try:
        await _write(response, served, writer.write(first))
        async for delta in deltas:
            await _write(response, served, writer.write(delta))
        await response.write(served.last)
    except (Refusal, DialectError) as error:
        refusal = error if isinstance(error, Refusal) else Refusal(_INVALID, str(error))
        await response.write(served.event(served.error(refusal)))
    await response.write_eof()
    return response


async def _write(response: web.StreamResponse, served: Served, events: Iterable[JsonObject]) -> None:
    if data := b"".join(map(served.event, events)):
        await response.write(data)


def _question(request: web.Request, served: Served, asked: JsonObject) -> Question:
    try:
        read = served.read(asked)
    except DialectError as error:
        raise Refusal(_INVALID, error.reason, error.field) from error
    return Question(
        dialect=served.name,
        request=read,
        body=asked,
        streamed=asked.get("stream") is True,
        mark=request.headers.get("Idempotency-Key"),
        again=request.headers.get("x-stainless-retry-count", "0") != "0",
    )


def _errand(access: Access, model: str) -> ModelCallRequested:
    """What is asked of an upstream besides calls, as far as limits and replicas must know it."""
    deadline = datetime.now(UTC) + timedelta(seconds=access.model_seconds)
    return ModelCallRequested(
        id=access.program_id,
        run_id=access.run_id,
        rollout_id=access.rollout_id,
        model=model,
        messages=[],
        deadline=min(deadline, access.expires),
    )


def _object(body: bytes) -> JsonObject:
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(_INVALID, f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise Refusal(_INVALID, "the body must be a JSON object")
    return content


def _ids(call: LiveCall) -> dict[str, str]:
    return {"x-request-id": call.id, "request-id": call.id}


def _model(name: str) -> JsonObject:
    """A model as both OpenAI and Anthropic list it."""
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "odradek",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }
