"""Content blocks of Anthropic Messages, and the parts and calls of chat messages that they mean.

Source: the Anthropic API reference, "Messages", and its guide to extended thinking: a `thinking` block goes back with
the `signature` that it came with, a `redacted_thinking` block as it came. Both are kept in `reasoning_details`.
"""

import re

import orjson
from pydantic import JsonValue

from odradek.dialects.core import DialectError, a_list, a_text, an_object, arguments_text
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall, Message, ToolCall

THINKING = frozenset({"thinking", "redacted_thinking"})
_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def blocks_of(content: JsonValue, at: str) -> list[JsonObject]:
    """A message's content as blocks: text is one block of text. Raises DialectError."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [an_object(block, f"{at}.{index}") for index, block in enumerate(a_list(content, at))]


def parts_of(blocks: list[JsonObject], at: str) -> str | list[JsonObject]:
    """Blocks as the content of a chat message: text alone where a single block of text says it all.

    Raises:
        DialectError: a block has no counterpart.
    """
    parts = [_read_part(block, f"{at}.{index}") for index, block in enumerate(blocks)]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return a_text(parts[0]["text"])
    return parts or ""


def blocks_from(content: str | list[JsonObject] | None, at: str) -> list[JsonObject]:
    """The content of a chat message as blocks; empty text is left out, which the API refuses.

    Raises:
        DialectError: a part has no counterpart.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [_write_part(part, f"{at}.{index}") for index, part in enumerate(content or [])]


def read_call(block: JsonObject, at: str) -> ToolCall:
    """A `tool_use` block. Raises DialectError."""
    key, name = block.get("id"), block.get("name")
    if not isinstance(key, str) or not isinstance(name, str):
        raise DialectError(at, "a tool_use needs an id and a name")
    return ToolCall(id=key, function=FunctionCall(name=name, arguments=arguments_text(block.get("input"))))


def write_call(call: ToolCall) -> JsonObject:
    """A `tool_use` block. Arguments that are no JSON object, or one that is nested too deep to be written again, are kept
    under the name `arguments`, as the text they are."""
    try:
        arguments = orjson.loads(call.function.arguments)
        orjson.dumps([[[[arguments]]]])  # as deep as a block lies in a request
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"arguments": call.function.arguments}
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": arguments}


def read_assistant(blocks: list[JsonObject], at: str) -> Message:
    """The blocks of one reply as one message. Raises DialectError."""
    thinking = [block for block in blocks if block.get("type") in THINKING]
    calls = [read_call(b, f"{at}.{i}") for i, b in enumerate(blocks) if b.get("type") == "tool_use"]
    told = [block for block in blocks if block.get("type") not in (*THINKING, "tool_use")]
    return Message(
        role="assistant",
        content=parts_of(told, at) if told else None,
        reasoning_content="\n".join(a_text(block.get("thinking")) for block in thinking) or None,
        reasoning_details=thinking or None,
        tool_calls=calls or None,
    )


def write_assistant(message: Message, at: str) -> list[JsonObject]:
    """One assistant message as blocks: thinking first, then text, then calls.

    Raises:
        DialectError: a part of its content has no counterpart.
    """
    content = message.refusal if message.content is None else message.content
    calls = [write_call(call) for call in message.tool_calls or []]
    return [*_write_thinking(message), *blocks_from(content, at), *calls]


def _write_thinking(message: Message) -> list[JsonObject]:
    details = [block for block in message.reasoning_details or [] if block.get("type") in THINKING]
    if details or not message.reasoning_content:
        return details
    return [{"type": "thinking", "thinking": message.reasoning_content, "signature": ""}]


def _read_part(block: JsonObject, at: str) -> JsonObject:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": a_text(block.get("text"))}
        case "image":
            return {"type": "image_url", "image_url": {"url": _read_source(block, at)}}
        case "document":
            return {"type": "file", "file": _read_document(block, at)}
        case kind:
            raise DialectError(
                f"{at}.type", f"{kind!r} can't be read here; blocks that can: text, image, document"
            )


def _read_source(block: JsonObject, at: str) -> str:
    source = an_object(block.get("source"), f"{at}.source")
    match source.get("type"):
        case "base64":
            return f"data:{a_text(source.get('media_type'))};base64,{a_text(source.get('data'))}"
        case "url":
            return a_text(source.get("url"))
        case kind:
            raise DialectError(f"{at}.source.type", f"{kind!r} can't be read; sources that can: base64, url")


def _read_document(block: JsonObject, at: str) -> JsonObject:
    title = block.get("title")
    file: JsonObject = {"file_data": _read_source(block, at)}
    return {"filename": title, **file} if isinstance(title, str) else file


def _write_part(part: JsonObject, at: str) -> JsonObject:
    match part.get("type"):
        case "text" | "refusal":
            return {"type": "text", "text": a_text(part.get("text") or part.get("refusal"))}
        case "image_url":
            image = an_object(part.get("image_url"), f"{at}.image_url")
            return {"type": "image", "source": _write_source(a_text(image.get("url")))}
        case "file":
            return _write_document(an_object(part.get("file"), f"{at}.file"), at)
        case kind:
            raise DialectError(f"{at}.type", f"Anthropic Messages has no counterpart of {kind!r}")


def _write_source(url: str) -> JsonObject:
    inline = _DATA_URL.fullmatch(url)
    if inline is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": inline[1], "data": inline[2]}


def _write_document(file: JsonObject, at: str) -> JsonObject:
    if not isinstance(data := file.get("file_data"), str):
        raise DialectError(f"{at}.file", "only a file with file_data can be sent to Anthropic Messages")
    block: JsonObject = {"type": "document", "source": _write_source(data)}
    return {**block, "title": file["filename"]} if file.get("filename") else block
