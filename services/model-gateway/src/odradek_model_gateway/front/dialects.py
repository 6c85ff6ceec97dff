"""The dialects as they are served: each with its path, its errors and its streams."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from odradek.dialects import chat, messages, responses
from odradek.dialects.core import ChatRequest, Reply
from odradek.dialects.deltas import Delta
from odradek.dialects.responses.tools import read_forms
from odradek.dialects.sse import DONE, write_event
from odradek_model_gateway.front.refusals import Refusal, messages_error, openai_error
from odradek_schemas.base import JsonObject


@dataclass(frozen=True, slots=True)
class Asking:
    """The request that a reply answers: its body, the id of the reply, the model's name, and when it came (seconds)."""

    body: JsonObject
    reply_id: str
    model: str
    created: int


class Writer(Protocol):
    """Writes one streamed reply."""

    def write(self, delta: Delta, /) -> Iterator[JsonObject]:
        """The events of one delta. Raises DialectError."""


@dataclass(frozen=True, slots=True)
class Served:
    """One dialect. `named`: its events carry their `type` as their name; `last`: what ends a stream."""

    name: str
    path: str
    read: Callable[[JsonObject], ChatRequest]
    reply: Callable[[Reply, Asking], JsonObject]
    writer: Callable[[Asking], Writer]
    error: Callable[[Refusal], JsonObject]
    named: bool = True
    last: bytes = b""

    def event(self, event: JsonObject) -> bytes:
        """One event as it goes over the wire."""
        name = str(event["type"]) if self.named and "type" in event else None
        return write_event(orjson.dumps(event), name)


def _chat_reply(reply: Reply, asking: Asking) -> JsonObject:
    return chat.write_reply(reply, f"chatcmpl-{asking.reply_id}", asking.model, asking.created)


def _chat_writer(asking: Asking) -> Writer:
    options: Any = asking.body.get("stream_options") or {}
    with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return chat.StreamWriter(f"chatcmpl-{asking.reply_id}", asking.model, asking.created, with_usage)


def _responses_reply(reply: Reply, asking: Asking) -> JsonObject:
    forms = read_forms(asking.body.get("tools"))
    return responses.write_reply(reply, f"resp_{asking.reply_id}", asking.model, asking.created, forms)


def _responses_writer(asking: Asking) -> Writer:
    forms = read_forms(asking.body.get("tools"))
    return responses.StreamWriter(f"resp_{asking.reply_id}", asking.model, asking.created, forms)


def _responses_error(refusal: Refusal) -> JsonObject:
    """Its streams tell of an error in an event of its own; its plain errors are OpenAI's."""
    return {
        "type": "error",
        "code": refusal.meaning.code,
        "message": refusal.message,
        **openai_error(refusal),
    }


def _messages_reply(reply: Reply, asking: Asking) -> JsonObject:
    return messages.write_reply(reply, f"msg_{asking.reply_id}", asking.model, asking.created)


def _messages_writer(asking: Asking) -> Writer:
    return messages.StreamWriter(f"msg_{asking.reply_id}", asking.model, asking.created)


CHAT = Served(
    "chat",
    "/v1/chat/completions",
    chat.read_request,
    _chat_reply,
    _chat_writer,
    openai_error,
    named=False,
    last=write_event(DONE.encode()),
)
RESPONSES = Served(
    "responses",
    "/v1/responses",
    responses.read_request,
    _responses_reply,
    _responses_writer,
    _responses_error,
)
MESSAGES = Served(
    "messages", "/v1/messages", messages.read_request, _messages_reply, _messages_writer, messages_error
)
SERVED = (CHAT, RESPONSES, MESSAGES)
