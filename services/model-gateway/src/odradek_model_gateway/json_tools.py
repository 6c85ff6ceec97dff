"""Tools for models that have no tool calls of their own.

The functions are listed in the system prompt, and the reply is bound by a JSON Schema: one function's name and
arguments, or a plain answer. Earlier calls and their results become text in the same form, so that such a model can
read the conversation. Calls stay calls outside of this module: `read_reply` turns the JSON back into one.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson
from pydantic_core import to_json

from odradek.dialects.core import tool_call_id
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import FunctionCall, FunctionSpec, Message, ToolCall, ToolSpec

_INSTRUCTIONS = """You can call functions. The functions, one per line:
{functions}

Reply with one JSON object and nothing else.
To call a function: {{"name": "<function name>", "arguments": {{<its arguments>}}}}"""
_OR_ANSWER = '\nTo answer the user without a function: {"answer": "<your answer>"}'
_NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Offer:
    """The functions that one call offers the model; `must_call`: a plain answer will not do."""

    functions: list[FunctionSpec]
    must_call: bool = False

    @classmethod
    def of(cls, tools: list[ToolSpec], choice: Any = None) -> "Offer":
        """What a call's tools and `tool_choice` (OpenAI's values) come to."""
        functions = [tool.function for tool in tools]
        if choice == "none":
            return cls([])
        if isinstance(choice, dict):
            wanted = (choice.get("function") or {}).get("name")
            return cls([function for function in functions if function.name == wanted], must_call=True)
        return cls(functions, must_call=choice == "required")

    @property
    def instructions(self) -> str:
        """The functions and the form of the reply, for the system prompt."""
        text = _INSTRUCTIONS.format(functions="\n".join(map(_describe, self.functions)))
        return text if self.must_call else text + _OR_ANSWER

    @property
    def reply_format(self) -> JsonObject:
        """The `response_format` that binds the reply to a call of one of the functions, or a plain answer."""
        definitions: dict[str, Any] = {}
        alternatives: list[Any] = [_call_schema(function, definitions) for function in self.functions]
        if not self.must_call:
            alternatives.append(_closed({"answer": {"type": "string"}}))
        schema: dict[str, Any] = {"anyOf": alternatives}
        if definitions:
            schema["$defs"] = definitions
        return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def write_history(messages: list[Message], offer: Offer) -> list[Message]:
    """The conversation as such a model can read it: one system message first, no tool calls, no tool messages."""
    told = list(messages)
    opening: list[str] = []
    while told and told[0].role in ("system", "developer"):
        opening.append(told.pop(0).text)
    if offer.functions:
        opening.append(offer.instructions)
    first = [Message(role="system", content="\n\n".join(opening))] if opening else []
    return first + _write_turns(told, bool(offer.functions))


def read_reply(message: Message, finish_reason: str, call_id: str, offer: Offer) -> tuple[Message, str]:
    """The reply and its finish reason, with a call or an answer in JSON turned into what it means.

    A reply that is neither (cut short, or from a server that does not bind it) stays as it is: the model wrote it.
    """
    if not offer.functions:
        return message, finish_reason
    try:
        content = orjson.loads(message.text)
    except orjson.JSONDecodeError:
        return message, finish_reason
    match content:
        case {"name": str(name), "arguments": dict(arguments)}:
            call = ToolCall(
                id=tool_call_id(call_id, 0), function=FunctionCall(name=name, arguments=_json(arguments))
            )
            return message.model_copy(update={"content": None, "tool_calls": [call]}), "tool_calls"
        case {"answer": str(answer)}:
            return message.model_copy(update={"content": answer}), finish_reason
    return message, finish_reason


def _json(value: Any) -> str:
    return to_json(value).decode()


def _describe(function: FunctionSpec) -> str:
    parameters = function.parameters or _NO_ARGUMENTS
    return _json({"name": function.name, "description": function.description or "", "parameters": parameters})


def _write_turns(messages: list[Message], bound: bool) -> list[Message]:
    """Results of one turn's calls go together: some templates want user and assistant to alternate."""
    names = {call.id: call.function.name for m in messages for call in m.tool_calls or ()}
    turns: list[Message] = []
    for is_result, group in groupby(messages, key=lambda m: m.role == "tool"):
        if is_result:
            lines = (f"Result of {names.get(m.tool_call_id or '', 'the call')}: {m.text}" for m in group)
            turns.append(Message(role="user", content="\n".join(lines)))
        else:
            turns += [_write_turn(message, bound) for message in group]
    return turns


def _write_turn(message: Message, bound: bool) -> Message:
    if message.role == "developer":
        return message.model_copy(update={"role": "system"})
    if message.role != "assistant":
        return message
    if message.tool_calls:
        lines = [message.text] if message.text else []
        lines += [_write_call(call.function) for call in message.tool_calls]
        return message.model_copy(update={"content": "\n".join(lines), "tool_calls": None})
    return message.model_copy(update={"content": _json({"answer": message.text})}) if bound else message


def _write_call(function: FunctionCall) -> str:
    try:
        arguments = orjson.loads(function.arguments)
    except orjson.JSONDecodeError:
        arguments = function.arguments
    return _json({"name": function.name, "arguments": arguments})


def _call_schema(function: FunctionSpec, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of one call. `$defs` move to the root, where references look for them, under names of their own."""
    arguments: dict[str, Any] = dict(function.parameters or _NO_ARGUMENTS)
    for keyword in ("$defs", "definitions"):
        for name, schema in (arguments.pop(keyword, None) or {}).items():
            definitions[f"{function.name}-{name}"] = _refer(schema, function.name)
    return _closed({"name": {"const": function.name}, "arguments": _refer(arguments, function.name)})


def _refer(schema: Any, function: str) -> Any:
    if isinstance(schema, list):
        return [_refer(part, function) for part in schema]
    if not isinstance(schema, dict):
        return schema
    refer = {key: _refer(value, function) for key, value in schema.items()}
    target = schema.get("$ref")
    for start in ("#/$defs/", "#/definitions/"):
        if isinstance(target, str) and target.startswith(start):
            refer["$ref"] = f"#/$defs/{function}-{target.removeprefix(start)}"
    return refer


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
