"""Requests of the Responses API.

Source: the OpenAI API reference, "Create a model response". What no chat request has is read past (`truncation`,
`store`, `include`, `metadata`, ...); `previous_response_id` is refused, since nothing is stored. In writing, `stop`,
`top_k`, `seed`, penalties and names of messages are lost, and replies that follow each other become one.
"""

from typing import Any

from pydantic import JsonValue

from odradek.dialects.core import ChatRequest, DialectError, said, sampling_of
from odradek.dialects.responses.items import read_items, write_items
from odradek.dialects.responses.tools import read_tools, write_tool
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Message, Sampling

_NAMES = {
    "max_tokens": "max_output_tokens",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
}
_SHARED = (
    "temperature",
    "top_p",
    "parallel_tool_calls",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "stop",
)


def read_request(body: JsonObject) -> ChatRequest:
    """Read create parameters (`input`, `instructions`, `tools`, `temperature`, ...).

    Raises:
        DialectError: names the field that can't be read.
    """
    if body.get("previous_response_id"):
        raise DialectError(
            "previous_response_id", "nothing is stored here: send the whole conversation as input"
        )
    instructions = body.get("instructions")
    head = [Message(role="system", content=instructions)] if isinstance(instructions, str) else []
    return ChatRequest(
        messages=head + _read_input(body.get("input")),
        tools=read_tools(body.get("tools")),
        sampling=_read_sampling(body),
    )


def write_request(request: ChatRequest, model: str) -> JsonObject:
    """Create parameters, with nothing stored at the provider and its sealed reasoning sent along.

    Raises:
        DialectError: a message holds what the Responses API can't carry.
    """
    body: JsonObject = {
        "model": model,
        "input": [*write_items(request.messages)],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.tools:
        body["tools"] = [write_tool(tool) for tool in request.tools]
    return body | _write_sampling(request.sampling, with_tools=bool(request.tools))


def _read_input(value: JsonValue) -> list[Message]:
    if value is None:
        return []
    if isinstance(value, str):
        return [Message(role="user", content=value)]
    if not isinstance(value, list):
        raise DialectError("input", "must be text or a list of items")
    return read_items(value)


def _read_sampling(body: JsonObject) -> Sampling:
    found: JsonObject = {name: body.get(name) for name in _SHARED}
    reasoning = body.get("reasoning")
    found["max_tokens"] = body.get("max_output_tokens")
    found["tool_choice"] = _read_choice(body.get("tool_choice"))
    found["response_format"] = _read_format(body.get("text"))
    found["reasoning_effort"] = reasoning.get("effort") if isinstance(reasoning, dict) else None
    return sampling_of(found, _NAMES)


def _write_sampling(sampling: Sampling, with_tools: bool) -> JsonObject:
    effort = sampling.reasoning_effort
    return said(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_output_tokens=sampling.max_tokens,
        tool_choice=_write_choice(sampling.tool_choice) if with_tools else None,
        parallel_tool_calls=sampling.parallel_tool_calls if with_tools else None,
        text=_write_format(sampling.response_format),
        reasoning=None if effort is None else {"effort": effort},
    )


def _read_choice(choice: JsonValue) -> JsonValue:
    """A named function is nested in chat completions; the words are the same."""
    if isinstance(choice, dict) and choice.get("type") in ("function", "custom") and "name" in choice:
        return {"type": "function", "function": {"name": choice["name"]}}
    return choice


def _write_choice(choice: JsonValue) -> JsonValue:
    if isinstance(choice, dict) and isinstance(function := choice.get("function"), dict):
        return {"type": "function", "name": function.get("name")}
    return choice


def _read_format(text: JsonValue) -> JsonValue:
    """`text.format`; plain text is what a chat request gives anyway."""
    wanted = text.get("format") if isinstance(text, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") == "text":
        return None
    if wanted.get("type") == "json_schema":
        return {
            "type": "json_schema",
            "json_schema": said(**{n: v for n, v in wanted.items() if n != "type"}),
        }
    return wanted


def _write_format(response_format: JsonObject | None) -> JsonObject | None:
    if response_format is None:
        return None
    described: Any = response_format.get("json_schema") or {}
    return {"format": {"type": response_format.get("type"), **described}}
