"""What is served: calls in three dialects, the models there are, embeddings, counted tokens, and the policy's version."""

import asyncio
import time
from collections.abc import Mapping

import orjson
from aiohttp import web

from odradek.dialects.core import DialectError
from odradek_model_gateway.front.calls import Calls, Question, deadline_of, digest_of
from odradek_model_gateway.front.dialects import SERVED, Asking, Served
from odradek_model_gateway.front.live import LiveCall
from odradek_model_gateway.front.refusals import MEANINGS, Refusal
from odradek_model_gateway.front.server import Handler, dialect_of, json_response
from odradek_model_gateway.front.streamed import StreamedAnswer
from odradek_model_gateway.front.tokens import Tokens
from odradek_model_gateway.gateway import Gateway
from odradek_runtime.access import Access, TrainerAccess
from odradek_runtime.log_writer import LogWriter
from odradek_schemas.base import JsonObject
from odradek_schemas.events import ModelCallRequested, PolicyUpdated
from odradek_schemas.events.base import now
from odradek_schemas.failures import FailureKind
from odradek_schemas.topics import CONTROL

LONGEST_MARK = 255
BYTES_PER_TOKEN = 4
"""For an upstream that does not count: what English text comes to."""
_INVALID = MEANINGS[FailureKind.INVALID_REQUEST]


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
        async with _within(access):
            asked = _object(await request.read())
            self._check_model(access, asked)
            question = _question(request, served, asked)
            call = self._calls.ask(access, question)
            asking = Asking(asked, call.id, access.model, int(time.time()))
            if not question.streamed:
                return json_response(served.reply(await call.reply(), asking), headers=_ids(call))
            deltas = call.deltas()
            first = await anext(deltas)  # before that a failure has a status of its own
        stream = StreamedAnswer(request, served, served.writer(asking), _ids(call))
        await stream.write(first, deltas, _within(access))
        return stream.response

    async def count_tokens(self, request: web.Request) -> web.Response:
        """How long a prompt is: as the upstream counts where it speaks Messages, else by the length of its text."""
        access = self._tokens.program(request)
        self._calls.check(access)
        body = await _read(request, access)
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
        self._calls.check(access)
        asked = _object(await _read(request, access))
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
        access = self._tokens.trainer(request)
        asked = _object(await _read(request, access))
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


def _within(access: Access | TrainerAccess) -> asyncio.Timeout:
    """Nobody reads or is read from for longer than the token is good."""
    return asyncio.timeout((access.expires - now()).total_seconds())


async def _read(request: web.Request, access: Access | TrainerAccess) -> bytes:
    async with _within(access):
        return await request.read()


def _question(request: web.Request, served: Served, asked: JsonObject) -> Question:
    if not isinstance(asked.get("stream"), bool | None):
        raise Refusal(_INVALID, f"must be true or false, not {asked['stream']!r}", "stream")
    try:
        return Question(
            dialect=served.name,
            request=served.read(asked),
            digest=digest_of(served.name, asked),
            streamed=asked.get("stream") is True,
            mark=_mark(request),
            again=request.headers.get("x-stainless-retry-count", "0") != "0",
        )
    except DialectError as error:
        raise Refusal(_INVALID, error.reason, error.field) from error
    except orjson.JSONEncodeError as error:
        raise Refusal(_INVALID, "the body is nested too deep") from error


def _mark(request: web.Request) -> str | None:
    """The idempotency key, where there is one."""
    mark = request.headers.get("Idempotency-Key") or None
    if mark is not None and not (mark.isascii() and mark.isprintable() and len(mark) <= LONGEST_MARK):
        raise Refusal(_INVALID, f"Idempotency-Key: up to {LONGEST_MARK} printable ASCII characters")
    return mark


def _errand(access: Access, model: str) -> ModelCallRequested:
    """What is asked of an upstream besides calls, as far as limits and replicas must know it."""
    return ModelCallRequested(
        id=access.program_id,
        run_id=access.run_id,
        rollout_id=access.rollout_id,
        model=model,
        messages=[],
        deadline=deadline_of(access),
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
