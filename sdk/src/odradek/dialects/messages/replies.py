"""Replies of Anthropic Messages.

Source: the Anthropic API reference, "Create a Message" (response). `input_tokens` there are those that no cache
answered; the core's `prompt_tokens` are all.
"""

from pydantic import JsonValue

from odradek.dialects.core import DialectError, Reply, a_count, an_object
from odradek.dialects.messages.blocks import blocks_of, read_assistant, write_assistant
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Usage

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""Chat completions' word for each `stop_reason`."""
_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


def read_reply(body: JsonObject, call_id: str) -> Reply:
    """Read the body of a reply. `call_id` is not needed: each call has an id here.

    Raises:
        DialectError: names the field that is missing or can't be read.
    """
    if body.get("content") is None:
        raise DialectError("content", "is missing")
    reason = str(body.get("stop_reason") or "end_turn")
    return Reply(
        message=read_assistant(blocks_of(body["content"], "content"), "content"),
        finish_reason=FINISH_REASONS.get(reason, reason),
        usage=read_usage(body.get("usage")),
    )


def write_reply(reply: Reply, reply_id: str, model: str, created: int) -> JsonObject:
    """The body of a reply. `created` is not said in this dialect."""
    content: list[JsonValue] = [*write_assistant(reply.message, "content")]
    return {
        "id": reply_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason_of(reply.finish_reason, bool(reply.message.tool_calls)),
        "stop_sequence": None,
        "usage": write_usage(reply.usage),
    }


def stop_reason_of(finish_reason: str, called: bool) -> str:
    """Why the model stopped, in this dialect's word; `called`: whether the reply holds calls.

    Chat completions says `stop` of a call that it was forced to make; here a client would take that for the end.
    """
    reason = "tool_calls" if called and finish_reason == "stop" else finish_reason
    return _STOP_REASONS.get(reason, "end_turn")


def read_usage(value: JsonValue) -> Usage:
    """Token counts; what is missing counts as 0. Raises DialectError."""
    usage = an_object(value or {}, "usage")
    cached = a_count(usage, "cache_read_input_tokens", "usage")
    made = a_count(usage, "cache_creation_input_tokens", "usage")
    return Usage(
        prompt_tokens=a_count(usage, "input_tokens", "usage") + cached + made,
        completion_tokens=a_count(usage, "output_tokens", "usage"),
        cached_tokens=cached,
    )


def write_usage(usage: Usage) -> JsonObject:
    """`usage` of a reply."""
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.completion_tokens,
    }
