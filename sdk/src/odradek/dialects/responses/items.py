"""Items of the Responses API, which are its messages, its reasoning, its calls and what they gave.

Source: the OpenAI API reference, "Responses" (input items, output items). Recorded items are often not valid: nulls,
missing ids and unknown fields are read past. Reasoning that only OpenAI can open (`encrypted_content`) goes back as it
came, in `reasoning_details`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import JsonValue

from odradek.dialects.core import DialectError, a_text, an_object, said
from odradek.dialects.responses.tools import Forms, in_namespace, read_custom_call, write_call
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall, Message, Role, ToolCall

_ROLES = frozenset(get_args(Role))


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


@dataclass
class _Reader:
    """Folds items into messages, one reply at a time."""

    messages: list[Message] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    details: list[JsonObject] = field(default_factory=list)
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
                self.refusals.append(a_text(part.get("refusal")))
            elif isinstance(part, dict):
                self.texts.append(a_text(part.get("text")))

    def read_reasoning(self, item: JsonObject, at: str) -> None:
        if self.texts or self.calls:
            self.end_reply()
        full, summary = _texts(item.get("content")), _texts(item.get("summary"))
        self.reasoning += full or summary
        if item.get("encrypted_content"):
            self.details.append(item)

    def read_call(self, item: JsonObject, at: str) -> None:
        name, call_id = item.get("name"), item.get("call_id") or item.get("id")
        if not isinstance(name, str) or not name:
            raise DialectError(f"{at}.name", "must name the function that is called")
        if not isinstance(call_id, str):
            raise DialectError(f"{at}.call_id", "is missing")
        if item.get("type") == "custom_tool_call":
            function = read_custom_call(item)
        else:
            called = in_namespace(name, item.get("namespace"))
            function = FunctionCall(name=called, arguments=a_text(item.get("arguments")))
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
        if self.texts or self.reasoning or self.details or self.refusals or self.calls:
            self.messages.append(
                Message(
                    role="assistant",
                    content="".join(self.texts) if self.texts else None,
                    reasoning_content="\n".join(self.reasoning) or None,
                    reasoning_details=self.details or None,
                    refusal="".join(self.refusals) or None,
                    tool_calls=self.calls or None,
                )
            )
        self.texts, self.reasoning, self.details, self.refusals, self.calls = [], [], [], [], []


_ITEM_READERS: dict[str, Callable[[_Reader, JsonObject, str], None]] = {
    "message": _Reader.read_message,
    "reasoning": _Reader.read_reasoning,
    "function_call": _Reader.read_call,
    "function_call_output": _Reader.read_call_output,
    "custom_tool_call": _Reader.read_call,
    "custom_tool_call_output": _Reader.read_call_output,
}


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
        return a_text(parts[0]["text"])
    return parts


def _read_part(part: JsonValue, at: str) -> JsonObject:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        raise DialectError(at, "must be an object")
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return {"type": "text", "text": a_text(part.get("text"))}
        case "input_image":
            image = said(url=part.get("image_url"), detail=part.get("detail"))
            return {"type": "image_url", "image_url": image}
        case "input_file":
            names = ("file_id", "filename", "file_data")
            file: JsonObject = {name: part[name] for name in names if part.get(name)}
            return {"type": "file", "file": file}
        case kind:
            raise DialectError(f"{at}.type", f"{kind!r} can't be read; parts that can: text, image, file")


def _texts(parts: JsonValue) -> list[str]:
    found = parts if isinstance(parts, list) else []
    return [a_text(part.get("text")) for part in found if isinstance(part, dict)]


def write_items(messages: list[Message]) -> list[JsonObject]:
    """Input items for a conversation. Raises DialectError: a part of a message has no counterpart."""
    return [
        item
        for index, message in enumerate(messages)
        for item in _write_message(message, f"messages.{index}")
    ]


def write_output(message: Message, forms: Forms) -> list[JsonObject]:
    """One reply as items: its reasoning, its text, its calls. `forms`: how the client knows the functions."""
    return [
        *_write_reasoning(message),
        *_write_said(message),
        *(write_call(call, forms) for call in message.tool_calls or []),
    ]


def _write_message(message: Message, at: str) -> list[JsonObject]:
    match message.role:
        case "assistant":
            return write_output(message, {})
        case "tool":
            output: Any = message.content
            if not isinstance(output, str):
                output = _write_parts(output, at)
            return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
        case role:
            content: Any = message.content
            if not isinstance(content, str):
                content = _write_parts(content, at)
            return [{"type": "message", "role": role, "content": content}]


def _write_reasoning(message: Message) -> list[JsonObject]:
    sealed = [item for item in message.reasoning_details or [] if item.get("encrypted_content")]
    if sealed or not message.reasoning_content:
        return sealed
    text: JsonObject = {"type": "reasoning_text", "text": message.reasoning_content}
    return [{"type": "reasoning", "summary": [], "content": [text]}]


def _write_said(message: Message) -> list[JsonObject]:
    texts = [message.content] if isinstance(message.content, str) else _texts(message.content)  # type: ignore[arg-type]
    parts: list[JsonValue] = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    if message.refusal is not None:
        parts.append({"type": "refusal", "refusal": message.refusal})
    return [{"type": "message", "role": "assistant", "content": parts}] if parts else []


def _write_parts(parts: list[JsonObject] | None, at: str) -> list[JsonObject]:
    return [_write_part(part, f"{at}.content.{index}") for index, part in enumerate(parts or [])]


def _write_part(part: JsonObject, at: str) -> JsonObject:
    match part.get("type"):
        case "text":
            return {"type": "input_text", "text": a_text(part.get("text"))}
        case "image_url":
            image = an_object(part.get("image_url"), f"{at}.image_url")
            return {"type": "input_image", "image_url": image.get("url"), **said(detail=image.get("detail"))}
        case "file":
            return {"type": "input_file", **an_object(part.get("file"), f"{at}.file")}
        case kind:
            raise DialectError(f"{at}.type", f"the Responses API has no counterpart of {kind!r}")
