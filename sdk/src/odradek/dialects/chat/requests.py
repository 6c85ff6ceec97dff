"""Requests of chat completions.

Source: the OpenAI API reference, "Create chat completion". The core is this shape, so nothing of a conversation is
lost. Read past, because no call of a rollout can honour it: `store`, `metadata`, `user`, `service_tier`, `logit_bias`
and other settings that do not belong to `Sampling`.
"""

from typing import Any

from pydantic import JsonValue, ValidationError

from odradek.dialects.core import ChatRequest, DialectError, a_list, an_object, sampling_of
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain
from odradek_schemas.messages import Message, Sampling, ToolSpec

_NAMES = {"max_tokens": "max_completion_tokens"}


def read_request(body: JsonObject) -> ChatRequest:
    """Read the body of a request.

    Raises:
        DialectError: names the field that can't be read.
    """
    if body.get("n") not in (None, 1):
        raise DialectError("n", "only one choice is given; ask again for another one")
    messages = [
        _read_message(m, f"messages.{i}") for i, m in enumerate(a_list(body.get("messages"), "messages"))
    ]
    if not messages:
        raise DialectError("messages", "must hold at least one message")
    return ChatRequest(messages=messages, tools=_read_tools(body.get("tools")), sampling=_read_sampling(body))


def write_request(request: ChatRequest, model: str) -> dict[str, Any]:
    """The body of a request; messages and tools are left as models, which pydantic's JSON writes as they are."""
    sampling = request.sampling.model_dump(exclude_none=True)
    body: dict[str, Any] = {"model": model, "messages": [_sendable(message) for message in request.messages]}
    if request.tools:
        return {**sampling, **body, "tools": request.tools}
    return {**{name: value for name, value in sampling.items() if name not in _OF_TOOLS}, **body}


_OF_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})


def _sendable(message: Message) -> Message:
    """Servers refuse a message with neither content nor calls."""
    if message.content is None and not message.tool_calls:
        return message.model_copy(update={"content": ""})
    return message


def _read_message(value: JsonValue, at: str) -> Message:
    message = dict(an_object(value, at))
    if message.get("reasoning_content") is None and isinstance(message.get("reasoning"), str):
        message["reasoning_content"] = message["reasoning"]
    if not message.get("tool_calls"):
        message.pop("tool_calls", None)
    try:
        return Message.model_validate(message, extra="ignore")
    except ValidationError as error:
        raise DialectError(at, explain(error)) from error


def _read_tools(value: JsonValue) -> list[ToolSpec]:
    return [_read_tool(tool, f"tools.{index}") for index, tool in enumerate(a_list(value, "tools"))]


def _read_tool(value: JsonValue, at: str) -> ToolSpec:
    tool = an_object(value, at)
    if tool.get("type", "function") != "function":
        raise DialectError(f"{at}.type", f"{tool.get('type')!r} is not supported, only 'function'")
    try:
        return ToolSpec.model_validate(_without_nulls(tool), extra="ignore")
    except ValidationError as error:
        raise DialectError(at, explain(error)) from error


def _without_nulls(tool: JsonObject) -> JsonObject:
    function = tool.get("function")
    if not isinstance(function, dict):
        return tool
    return {**tool, "function": {name: value for name, value in function.items() if value is not None}}


def _read_sampling(body: JsonObject) -> Sampling:
    found = {name: body.get(name) for name in Sampling.model_fields}
    found["max_tokens"] = body.get("max_completion_tokens") or body.get("max_tokens")
    if isinstance(stop := body.get("stop"), str):
        found["stop"] = [stop]
    return sampling_of(found, _NAMES)
