"""Replies of chat completions.

Source: the OpenAI API reference, "The chat completion object"; `reasoning_content` as vLLM and DeepSeek write it,
`reasoning` and `reasoning_details` as OpenRouter does; token ids as vLLM (`return_token_ids`) and llama.cpp give them.
"""

from typing import Any

import orjson
from pydantic import JsonValue, ValidationError

from odradek.dialects.core import (
    DialectError,
    Reply,
    a_list,
    an_object,
    arguments_text,
    tool_call_id,
    usage_as,
    usage_of,
)
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain
from odradek_schemas.messages import Message, TokenRecord

USAGE = ("prompt", "completion")
"""What prompt and reply are called in `usage`."""


def read_reply(body: JsonObject, call_id: str) -> Reply:
    """Read the body of a reply: its first choice. Unknown fields are read past; null is the same as left out.

    Args:
        call_id: what tool calls without an id of their own are named after.

    Raises:
        DialectError: names the field that is missing or can't be read.
    """
    choice = _first_choice(body)
    try:
        return Reply(
            message=_read_message(an_object(choice.get("message"), "choices.0.message"), call_id),
            finish_reason=str(choice.get("finish_reason") or "stop"),
            usage=usage_of(body.get("usage"), *USAGE),
            tokens=_read_tokens(body, choice),
        )
    except ValidationError as error:
        raise DialectError("choices.0", explain(error)) from error


def write_reply(reply: Reply, reply_id: str, model: str, created: int) -> JsonObject:
    """The body of a reply. `created`: seconds since the epoch."""
    message: Any = reply.message.model_dump(exclude_none=True)
    message.setdefault("content", None)
    message.setdefault("refusal", None)
    choice: JsonObject = {
        "index": 0,
        "message": message,
        "finish_reason": reply.finish_reason,
        "logprobs": None,
    }
    return {
        "id": reply_id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
        "usage": usage_as(reply.usage, *USAGE),
    }


def _read_message(message: JsonObject, call_id: str) -> Message:
    """The assistant's message. Raises DialectError, ValidationError."""
    told: dict[str, Any] = {
        "role": "assistant",
        "content": message.get("content"),
        "reasoning_content": message.get("reasoning_content") or message.get("reasoning"),
        "reasoning_details": message.get("reasoning_details"),
        "refusal": message.get("refusal"),
    }
    if calls := message.get("tool_calls"):
        told["tool_calls"] = _read_calls(a_list(calls, "choices.0.message.tool_calls"), call_id)
    return Message.model_validate(told)


def _first_choice(body: JsonObject) -> JsonObject:
    choices = a_list(body.get("choices"), "choices")
    if not choices:
        told = f"; it says {orjson.dumps(body['error']).decode()[:400]}" if body.get("error") else ""
        raise DialectError("choices", f"holds no choice{told}")
    return an_object(choices[0], "choices.0")


def _read_calls(calls: list[JsonValue], call_id: str) -> list[JsonObject]:
    """The calls, each with an id that no other of this reply has, though some servers give none."""
    written: dict[str, JsonObject] = {}
    for index, value in enumerate(calls):
        at = f"choices.0.message.tool_calls.{index}"
        call = an_object(value, at)
        function = an_object(call.get("function"), f"{at}.function")
        key = call.get("id")
        if not isinstance(key, str) or not key or key in written:
            key = tool_call_id(call_id, index)
        arguments = arguments_text(function.get("arguments"))
        written[key] = {"id": key, "function": {"name": function.get("name"), "arguments": arguments}}
    return list(written.values())


def _read_tokens(body: JsonObject, choice: JsonObject) -> TokenRecord | None:
    """Token ids as vLLM returns them (beside the choice), or as llama.cpp does (within the logprobs)."""
    ids: Any = choice.get("token_ids")
    logprobs = an_object(choice.get("logprobs") or {}, "choices.0.logprobs").get("content")
    if ids is None and logprobs is None:
        return None
    at = "choices.0.logprobs.content"
    chosen = [an_object(token, at) for token in a_list(logprobs, at)]
    if ids is None and all("id" in token for token in chosen):
        ids = [token["id"] for token in chosen]
    return TokenRecord.model_validate(
        {
            "prompt_token_ids": body.get("prompt_token_ids") or choice.get("prompt_token_ids"),
            "completion_token_ids": ids,
            "logprobs": None if logprobs is None else [token.get("logprob") for token in chosen],
        }
    )
