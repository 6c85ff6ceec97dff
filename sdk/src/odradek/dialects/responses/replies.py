"""Replies of the Responses API.

Source: the OpenAI API reference, "The response object". Why the model stopped is not said in a word there: it is in
`status`, `incomplete_details` and in whether the output holds calls.
"""

from odradek.dialects.core import DialectError, Reply, usage_as, usage_of
from odradek.dialects.responses.items import read_output, write_output
from odradek.dialects.responses.tools import Forms
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Message, Usage

_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}
_WORDS = {word: reason for reason, word in _INCOMPLETE.items()}

USAGE = ("input", "output")
"""What prompt and reply are called in `usage`."""


def read_reply(body: JsonObject, call_id: str) -> Reply:
    """Read a response. `call_id` is not needed: each call has an id here.

    Raises:
        DialectError: names the field that is missing or can't be read.
    """
    output = body.get("output")
    if not isinstance(output, list):
        raise DialectError("output", "must be a list of items")
    message = _one(read_output(output))
    return Reply(
        message, finish_reason_of(body, bool(message.tool_calls)), usage_of(body.get("usage"), *USAGE)
    )


def write_reply(
    reply: Reply, reply_id: str, model: str, created: int, forms: Forms | None = None
) -> JsonObject:
    """The response object. `created`: seconds since the epoch; `forms`: how the client knows the functions."""
    items = write_output(reply.message, forms or {})
    output = [_finished(item, f"{reply_id}_{index}") for index, item in enumerate(items)]
    return response_of(reply_id, model, created, output, reply.finish_reason, reply.usage)


def response_of(
    reply_id: str,
    model: str,
    created: int,
    output: list[JsonObject],
    finish_reason: str,
    usage: Usage | None,
) -> JsonObject:
    """The response object around its output. Without `usage` it is still in progress."""
    cut = _WORDS.get(finish_reason)
    return {
        "id": reply_id,
        "object": "response",
        "created_at": created,
        "status": "in_progress" if usage is None else "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [*output],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if usage is None else usage_as(usage, *USAGE),
    }


def finish_reason_of(body: JsonObject, called: bool) -> str:
    """Why the model stopped, in chat completions' word. `called`: whether the output holds calls."""
    details = body.get("incomplete_details")
    if isinstance(details, dict) and (reason := details.get("reason")) is not None:
        return _INCOMPLETE.get(str(reason), str(reason))
    return "tool_calls" if called else "stop"


def _finished(item: JsonObject, item_id: str) -> JsonObject:
    return {"id": item_id, "status": "completed", **item}


def _one(messages: list[Message]) -> Message:
    """The output as one message: a reply may be told in several."""
    if not messages:
        return Message(role="assistant", content="")
    if len(messages) == 1:
        return messages[0]
    texts = [message.text for message in messages if message.content]
    thought = [message.reasoning_content for message in messages if message.reasoning_content]
    return Message(
        role="assistant",
        content="".join(texts) if texts else None,
        reasoning_content="\n".join(thought) or None,
        reasoning_details=[d for message in messages for d in message.reasoning_details or []] or None,
        refusal="".join(message.refusal or "" for message in messages) or None,
        tool_calls=[call for message in messages for call in message.tool_calls or []] or None,
    )
