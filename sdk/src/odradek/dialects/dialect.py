"""What a dialect is: the functions that each dialect's package offers."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from odradek.dialects.core import ChatRequest, Reply
from odradek.dialects.deltas import Delta
from odradek_schemas.base import JsonObject


class DeltaReader(Protocol):
    """Reads the events of one streamed reply."""

    def read(self, event: JsonObject, /) -> Iterator[Delta]:
        """The deltas of one event. Raises DialectError."""


class Dialect(Protocol):
    """What each dialect's package offers."""

    @property
    def StreamReader(self) -> Callable[[], DeltaReader]:  # noqa: N802 - a class of the dialect's package
        """Begins to read a streamed reply."""

    def read_request(self, body: JsonObject, /) -> ChatRequest:
        """What is asked. Raises DialectError."""

    def write_request(self, request: ChatRequest, model: str, /) -> dict[str, Any]:
        """The body that asks it of `model` at an upstream. Raises DialectError."""

    def read_reply(self, body: JsonObject, call_id: str, /) -> Reply:
        """What was answered; tool calls without an id are named after `call_id`. Raises DialectError."""

    def write_reply(self, reply: Reply, reply_id: str, model: str, created: int, /) -> JsonObject:
        """The body that answers it. `created`: seconds since the epoch."""
