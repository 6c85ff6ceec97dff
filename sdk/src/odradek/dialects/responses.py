"""The OpenAI Responses API to chat messages, tools and sampling.

Source: the OpenAI API reference, "Responses" (create parameters, input items, output items). Recorded items are
often not valid requests: nulls, missing ids and unknown fields are read past. What has no counterpart in a chat
request (`reasoning` effort, `truncation`, `store`, hosted tools' results, ...) is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import get_args

from pydantic import Field, JsonValue, ValidationError

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.codec import explain
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, Role, Sampling, ToolCall, ToolSpec

_ROLES = frozenset(get_args(Role))


class DialectError(ValueError):
    """A request can't be expressed as chat messages. `field` is a dotted path into it."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class ChatRequest(Model):
    """A request in the shape of chat completions."""

    messages: list[Message]
    tools: list[ToolSpec] = Field(default_factory=list)
    sampling: Sampling = Field(default_factory=Sampling)


def read_request(parameters: JsonObject) -> ChatRequest:
    """Read create parameters (`input`, `instructions`, `tools`, `temperature`, ...).

    Raises:
        DialectError: names the field that can't be read.
    """
    instructions = parameters.get("instructions")
    head = [Message(role="system", content=instructions)] if isinstance(instructions, str) else []
    return ChatRequest(
        messages=head + _read_input(parameters.get("input")),
        tools=read_tools(parameters.get("tools")),
        sampling=read_sampling(parameters),
    )


def read_items(items: list[JsonValue], at: str = "input") -> list[Message]:
    """Read input or output items: messages, reasoning, function calls and their outputs.

    The items of one reply (its reasoning, text and calls) become one assistant message; an output ends it.

    Raises:
        DialectError: an item is of an unknown kind or lacks what its kind needs.
    """
    reader = _Reader()
    for index, item in enumerate(items):
        reader.read(item, f"{at}.{index}")
    reader.end_reply()
    return reader.messages


def read_output(output: list[JsonValue]) -> list[Message]:
    """Read a response's `output`: assistant messages, and tool messages where the calls were carried out.

    Raises:
        DialectError: as `read_items`.
    """
    return read_items(output, "output")


def read_tools(tools: JsonValue) -> list[ToolSpec]:
    """Read flat function tools; a chat completions tool (`{"type": "function", "function": ...}`) is taken as it is.

    Raises:
        DialectError: a tool is not a function, or has no name.
    """
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise DialectError("tools", "must be a list")
    return [_read_tool(tool, f"tools.{index}") for index, tool in enumerate(tools)]


def read_sampling(parameters: JsonObject) -> Sampling:
    """Read the sampling parameters; `max_output_tokens` is `max_tokens`, `text.format` is `response_format`.

    Raises:
        DialectError: a parameter is out of its range or of the wrong type.
    """
    shared = ("temperature", "top_p", "parallel_tool_calls", "presence_penalty", "frequency_penalty", "seed")
    found: JsonObject = {name: parameters.get(name) for name in (*shared, "stop")}
    found["max_tokens"] = parameters.get("max_output_tokens")
    found["tool_choice"] = _read_tool_choice(parameters.get("tool_choice"))
    found["response_format"] = _read_format(parameters.get("text"))
    try:
        return Sampling.model_validate({name: value for name, value in found.items() if value is not None})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise DialectError("max_output_tokens" if name == "max_tokens" else name, explain(error)) from error


@dataclass
class _Reader:
    """Folds items into messages, one reply at a time."""

    messages: list[Message] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    def read(self, item: JsonValue, at: str) -> None:
        if not isinstance(item, dict):
            raise DialectError(at, "must be an object")
        kind = item.get("type") or ("message" if "role" in item else None)
        reader = _ITEM_READERS.get(str(kind))
        if reader is None:
            known = ", ".join(_ITEM_READERS)
            raise DialectError(f"{at}.type", f"{kind!r} can't be read; items that can: {known}")
        reader(self, item, at)

    def read_message(self, item: JsonObject, at: str) -> None:
        role = item.get("role")
        if role == "assistant":
            self.read_assistant(item, at)
            return
        if not isinstance(role, str) or role not in _ROLES or role == "tool":
            raise DialectError(f"{at}.role", f"{role!r} is not one of system, developer, user, assistant")
        self.end_reply()
        content = _read_content(item.get("content"), f"{at}.content")
        self.messages.append(Message.model_validate({"role": role, "content": content}))

    def read_assistant(self, item: JsonObject, at: str) -> None:
        content = item.get("content")
        parts = [content] if isinstance(content, str) else content or []
        if not isinstance(parts, list):
            raise DialectError(f"{at}.content", "must be text or a list of parts")
        for part in parts:
            if isinstance(part, str):
                self.texts.append(part)
            elif isinstance(part, dict) and part.get("type") == "refusal":
                self.refusals.append(_text(part.get("refusal")))
            elif isinstance(part, dict):
                self.texts.append(_text(part.get("text")))

    def read_reasoning(self, item: JsonObject, at: str) -> None:
        if self.texts or self.calls:
            self.end_reply()
        full, summary = _texts(item.get("content")), _texts(item.get("summary"))
        self.reasoning += full or summary

    def read_call(self, item: JsonObject, at: str) -> None:
        name, arguments = item.get("name"), item.get("arguments")
        call_id = item.get("call_id") or item.get("id")
        if not isinstance(name, str) or not name:
            raise DialectError(f"{at}.name", "must name the function that is called")
        if not isinstance(call_id, str):
            raise DialectError(f"{at}.call_id", "is missing")
        function = FunctionCall(name=name, arguments=_text(arguments))
        self.calls.append(ToolCall(id=call_id, function=function))

    def read_call_output(self, item: JsonObject, at: str) -> None:
        self.end_reply()
        call_id = item.get("call_id")
        if not isinstance(call_id, str):
            raise DialectError(f"{at}.call_id", "is missing")
        content = _read_content(item.get("output"), f"{at}.output")
        self.messages.append(Message(role="tool", tool_call_id=call_id, content=content))

    def end_reply(self) -> None:
        """What was gathered is one assistant message."""
        if self.texts or self.reasoning or self.refusals or self.calls:
            self.messages.append(
                Message(
                    role="assistant",
                    content="".join(self.texts) if self.texts else None,
                    reasoning_content="\n".join(self.reasoning) or None,
                    refusal="".join(self.refusals) or None,
                    tool_calls=self.calls or None,
                )
            )
        self.texts, self.reasoning, self.refusals, self.calls = [], [], [], []


_ITEM_READERS: dict[str, Callable[[_Reader, JsonObject, str], None]] = {
    "message": _Reader.read_message,
    "reasoning": _Reader.read_reasoning,
    "function_call": _Reader.read_call,
    "function_call_output": _Reader.read_call_output,
}


def _read_input(value: JsonValue) -> list[Message]:
    if value is None:
        return []
    if isinstance(value, str):
        return [Message(role="user", content=value)]
    if not isinstance(value, list):
        raise DialectError("input", "must be text or a list of items")
    return read_items(value)


def _read_content(content: JsonValue, at: str) -> str | list[JsonObject]:
    """Text as text, a single text part too; other parts in the shapes of chat completions."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise DialectError(at, "must be text or a list of parts")
    parts = [_read_part(part, f"{at}.{index}") for index, part in enumerate(content)]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return _text(parts[0]["text"])
    return parts


def _read_part(part: JsonValue, at: str) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        raise DialectError(at, "must be an object")
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return {"type": "text", "text": _text(part.get("text"))}
        case "input_image":
            wanted = {"url": part.get("image_url"), "detail": part.get("detail")}
            image: JsonObject = {name: value for name, value in wanted.items() if value is not None}
            return {"type": "image_url", "image_url": image}
        case "input_file":
            names = ("file_id", "filename", "file_data")
            file: JsonObject = {name: part[name] for name in names if part.get(name)}
            return {"type": "file", "file": file}
        case kind:
            raise DialectError(f"{at}.type", f"{kind!r} can't be read; parts that can: text, image, file")


def _read_tool(tool: JsonValue, at: str) -> ToolSpec:
    if not isinstance(tool, dict):
        raise DialectError(at, "must be an object")
    if tool.get("type", "function") != "function":
        raise DialectError(f"{at}.type", f"{tool.get('type')!r} is not supported, only 'function'")
    nested = tool.get("function")
    flat = nested if isinstance(nested, dict) else tool
    wanted = ("name", "description", "parameters", "strict")
    try:
        return ToolSpec(
            function=FunctionSpec.model_validate({k: flat[k] for k in wanted if flat.get(k) is not None})
        )
    except ValidationError as error:
        raise DialectError(at, explain(error)) from error


def _read_tool_choice(choice: JsonValue) -> JsonValue:
    """A named function is nested in chat completions; the words are the same."""
    if isinstance(choice, dict) and choice.get("type") == "function" and "name" in choice:
        return {"type": "function", "function": {"name": choice["name"]}}
    return choice


def _read_format(text: JsonValue) -> JsonValue:
    """`text.format`; plain text is what a chat request gives anyway."""
    wanted = text.get("format") if isinstance(text, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") == "text":
        return None
    if wanted.get("type") == "json_schema":
        schema: JsonObject = {
            name: value for name, value in wanted.items() if name != "type" and value is not None
        }
        return {"type": "json_schema", "json_schema": schema}
    return wanted


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _texts(parts: JsonValue) -> list[str]:
    found = parts if isinstance(parts, list) else []
    return [_text(part.get("text")) for part in found if isinstance(part, dict)]
