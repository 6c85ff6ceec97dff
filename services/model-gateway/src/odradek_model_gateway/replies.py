"""From the body of an upstream's response to what the model said, at once or piece by piece."""

from collections.abc import AsyncIterator, Callable, Iterator

import orjson
from pydantic import ValidationError

from odradek.dialects.core import DialectError, Reply
from odradek.dialects.deltas import Delta, ReplyBuilder
from odradek.dialects.dialect import DeltaReader, Dialect
from odradek.dialects.ordering import CallOrder
from odradek.dialects.sse import DONE, EventParser
from odradek_model_gateway.failures import LONGEST_EXCERPT, CallError
from odradek_schemas.codec import explain
from odradek_schemas.failures import FailureKind

Tell = Callable[[Delta], None]
"""Is told each piece of a reply, as the reply will hold it."""


def read_reply(body: bytes, call_id: str, dialect: Dialect) -> Reply:
    """Read a 200's body. Unknown fields are ignored; null is the same as left out.

    Raises:
        CallError: not JSON, cut short, without a reply, or not of the dialect's shape (malformed_reply).
    """
    try:
        response = orjson.loads(body)
        if not isinstance(response, dict):
            raise _malformed("it is not an object")
        return dialect.read_reply(response, call_id)
    except orjson.JSONDecodeError as error:
        raise _malformed(f"{error} (after {len(body)} bytes)") from error
    except DialectError as error:
        raise _malformed(str(error)) from error


async def read_stream(chunks: AsyncIterator[bytes], call_id: str, dialect: Dialect, tell: Tell) -> Reply:
    """Read a stream of server-sent events to its end; each piece is told as it comes.

    Raises:
        CallError: an event can't be read, or the stream ends before the reply does (malformed_reply); the upstream tells
            of an error in the middle (upstream_unavailable).
    """
    parser, reader = EventParser(), dialect.StreamReader()
    order, builder = CallOrder(), ReplyBuilder(call_id)
    async for chunk in chunks:
        for event in parser.feed(chunk):
            for piece in _deltas(event.data, reader):
                for delta in order.put(builder.add(piece)):
                    tell(delta)
    if not builder.finished:
        raise _malformed("the stream ends before the reply does")
    return _whole(builder)


def _whole(builder: ReplyBuilder) -> Reply:
    try:
        return builder.reply()
    except ValidationError as problem:
        raise _malformed(explain(problem)) from problem


def _deltas(data: str, reader: DeltaReader) -> Iterator[Delta]:
    if data == DONE:
        return
    try:
        event = orjson.loads(data)
        if not isinstance(event, dict):
            raise _malformed("an event is not an object")
        if isinstance(error := event.get("error"), dict):
            told = str(error.get("message") or error)[:LONGEST_EXCERPT]
            raise CallError(FailureKind.UPSTREAM_UNAVAILABLE, f"the stream broke off: {told}")
        yield from reader.read(event)
    except orjson.JSONDecodeError as problem:
        raise _malformed(f"an event is not JSON: {problem}") from problem
    except DialectError as problem:
        raise _malformed(str(problem)) from problem


def _malformed(reason: str) -> CallError:
    return CallError(FailureKind.MALFORMED_REPLY, f"the response can't be read: {reason}")
