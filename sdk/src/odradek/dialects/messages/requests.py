"""Requests of Anthropic Messages.

Source: the Anthropic API reference, "Create a Message". What chat completions has no word for is lost in reading:
`cache_control`, a tool result's `is_error`, the order of thinking between texts. What Messages has no word for is lost
in writing: `seed`, penalties, names of messages; a system message in the middle becomes the user's.
"""

from itertools import groupby, takewhile
from typing import Any

from pydantic import JsonValue, ValidationError

from odradek.dialects.core import ChatRequest, DialectError, a_list, an_object, said, sampling_of
from odradek.dialects.messages.blocks import blocks_from, blocks_of, parts_of, read_assistant, write_assistant
from odradek.dialects.messages.choices import (
    read_choice,
    read_effort,
    read_format,
    write_choice,
    write_effort,
    write_format,
)
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain
from odradek_schemas.messages import FunctionSpec, Message, Sampling, ToolSpec

MOST_TOKENS = 8192
"""`max_tokens`, which Messages insists on, where a call names none."""

_SYSTEM = ("system", "developer")
_NO_PARAMETERS: JsonObject = {"type": "object", "properties": {}}
_NAMES = {"stop": "stop_sequences"}


def read_request(body: JsonObject) -> ChatRequest:
    """Read the body of a request.

    Raises:
        DialectError: names the field that can't be read.
    """
    messages = _read_system(body.get("system"))
    for index, value in enumerate(a_list(body.get("messages"), "messages")):
        messages += _read_message(an_object(value, f"messages.{index}"), f"messages.{index}")
    return ChatRequest(messages=messages, tools=_read_tools(body.get("tools")), sampling=_read_sampling(body))


def write_request(request: ChatRequest, model: str) -> JsonObject:
    """The body of a request.

    Raises:
        DialectError: a message holds what Messages can't carry.
    """
    head = list(takewhile(lambda message: message.role in _SYSTEM, request.messages))
    system = [block for message in head for block in blocks_from(message.content, "system")]
    body: JsonObject = {"model": model, "messages": _write_messages(request.messages[len(head) :])}
    if system:
        body["system"] = system[0]["text"] if len(system) == 1 else system  # type: ignore[assignment]
    if request.tools:
        body["tools"] = [_write_tool(tool.function) for tool in request.tools]
    return body | _write_sampling(request.sampling, with_tools=bool(request.tools))


def _read_system(value: JsonValue) -> list[Message]:
    blocks = blocks_of(value or [], "system")
    return [Message(role="system", content=parts_of([b], f"system.{i}")) for i, b in enumerate(blocks)]


def _read_message(message: JsonObject, at: str) -> list[Message]:
    blocks = blocks_of(message.get("content"), f"{at}.content")
    match message.get("role"):
        case "assistant":
            return [read_assistant(blocks, f"{at}.content")]
        case "user":
            return _read_user(blocks, f"{at}.content")
        case "system":
            return [Message(role="system", content=parts_of(blocks, f"{at}.content"))]
        case role:
            raise DialectError(f"{at}.role", f"{role!r} is neither user, assistant nor system")


def _read_user(blocks: list[JsonObject], at: str) -> list[Message]:
    """Each tool result is a message of its own, and so is what stands between them."""
    messages: list[Message] = []
    for is_result, group in groupby(blocks, lambda block: block.get("type") == "tool_result"):
        if is_result:
            messages += [_read_result(block, at) for block in group]
        else:
            messages.append(Message(role="user", content=parts_of(list(group), at)))
    return messages


def _read_result(block: JsonObject, at: str) -> Message:
    key = block.get("tool_use_id")
    if not isinstance(key, str):
        raise DialectError(f"{at}.tool_use_id", "is missing")
    content = parts_of(blocks_of(block.get("content") or [], at), at)
    return Message(role="tool", tool_call_id=key, content=content)


def _write_messages(messages: list[Message]) -> list[JsonValue]:
    """Tool results that follow each other are one message: Messages wants all results of a turn together."""
    written: list[JsonValue] = []
    for is_result, group in groupby(messages, lambda message: message.role == "tool"):
        if is_result:
            written.append({"role": "user", "content": [_write_result(message) for message in group]})
        else:
            written += [_write_message(message) for message in group]
    return written


def _write_message(message: Message) -> JsonObject:
    if message.role == "assistant":
        return {"role": "assistant", "content": write_assistant(_sealed(message), "messages")}  # type: ignore[dict-item]
    if isinstance(message.content, str):
        return {"role": "user", "content": message.content}
    return {"role": "user", "content": blocks_from(message.content, "messages")}  # type: ignore[dict-item]


def _sealed(message: Message) -> Message:
    """Without thinking that no signature vouches for: Messages refuses it."""
    details = [
        block for block in message.reasoning_details or [] if block.get("signature") or block.get("data")
    ]
    return message.model_copy(update={"reasoning_details": details, "reasoning_content": None})


def _write_result(message: Message) -> JsonObject:
    content: JsonValue = message.content if isinstance(message.content, str) else None
    if content is None:
        content = blocks_from(message.content, "messages")  # type: ignore[assignment]
    return {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": content}


def _read_tools(value: JsonValue) -> list[ToolSpec]:
    return [
        _read_tool(an_object(t, f"tools.{i}"), f"tools.{i}") for i, t in enumerate(a_list(value, "tools"))
    ]


def _read_tool(tool: JsonObject, at: str) -> ToolSpec:
    if tool.get("type") not in (None, "custom"):
        raise DialectError(
            f"{at}.type", f"{tool['type']!r} is a tool of Anthropic's own: no other model has it"
        )
    fields = said(
        name=tool.get("name"),
        description=tool.get("description"),
        parameters=tool.get("input_schema"),
        strict=tool.get("strict"),
    )
    try:
        return ToolSpec(function=FunctionSpec.model_validate(fields))
    except ValidationError as error:
        raise DialectError(at, explain(error)) from error


def _write_tool(function: FunctionSpec) -> JsonObject:
    schema = function.parameters or _NO_PARAMETERS
    return said(
        name=function.name, description=function.description, input_schema=schema, strict=function.strict
    )


def _read_sampling(body: JsonObject) -> Sampling:
    found = {name: body.get(name) for name in ("temperature", "top_p", "top_k", "max_tokens")}
    found["stop"] = body.get("stop_sequences")
    found["response_format"] = read_format(body.get("output_config"))
    found["reasoning_effort"] = read_effort(body)
    found["tool_choice"], found["parallel_tool_calls"] = read_choice(body.get("tool_choice"))
    return sampling_of(found, _NAMES)


def _write_sampling(sampling: Sampling, with_tools: bool) -> JsonObject:
    most = sampling.max_tokens or MOST_TOKENS
    choice = write_choice(sampling.tool_choice, sampling.parallel_tool_calls) if with_tools else None
    stop: Any = sampling.stop
    return said(
        max_tokens=most,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        stop_sequences=stop,
        tool_choice=choice,
        output_config=write_format(sampling.response_format),
        thinking=write_effort(sampling.reasoning_effort, most),
    )
