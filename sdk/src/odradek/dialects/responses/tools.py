"""Tools of the Responses API, as functions.

Source: the OpenAI API reference, "Responses" (`tools`): functions lie flat there; `custom` tools take free text;
`namespace` groups functions. A custom tool becomes a function with the one argument `input`, and a function of a
namespace carries it in its name, so that every model can call them; `Forms` tells how to say such a call again.
"""

from dataclasses import dataclass

import orjson
from pydantic import JsonValue, ValidationError

from odradek.dialects.core import DialectError, a_list, a_text, an_object, said
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import explain
from odradek_schemas.messages import FunctionCall, FunctionSpec, ToolCall, ToolSpec

SEPARATOR = "__"
_FREE_TEXT: JsonObject = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Form:
    """How the client knows a function: by which name, in which namespace, and whether as a custom tool."""

    name: str
    namespace: str | None = None
    custom: bool = False


Forms = dict[str, Form]
"""The functions of a request that are not plain functions to its client, by the name that the model knows."""


def read_tools(value: JsonValue) -> list[ToolSpec]:
    """Read tools; one in the shape of chat completions (`{"type": "function", "function": ...}`) is taken as it is.

    Raises:
        DialectError: a tool is neither a function, a custom tool nor a namespace, or has no name.
    """
    return [tool for tool, _form in _flattened(value)]


def read_forms(value: JsonValue) -> Forms:
    """Which of the tools are known to the client in another form. Raises DialectError."""
    return {tool.function.name: form for tool, form in _flattened(value) if form is not None}


def in_namespace(name: str, namespace: JsonValue) -> str:
    """The name by which a model knows a function."""
    return f"{namespace}{SEPARATOR}{name}" if isinstance(namespace, str) and namespace else name


def write_call(call: ToolCall, forms: Forms) -> JsonObject:
    """A call as the item that the client expects."""
    form = forms.get(call.function.name, Form(call.function.name))
    if form.custom:
        text = free_text(call.function.arguments)
        return {"type": "custom_tool_call", "call_id": call.id, "name": form.name, "input": text}
    item: JsonObject = {"type": "function_call", "call_id": call.id, "name": form.name}
    return {**item, "arguments": call.function.arguments, **said(namespace=form.namespace)}


def write_tool(tool: ToolSpec) -> JsonObject:
    """A function as it lies flat."""
    function = tool.function
    return {
        "type": "function",
        "name": function.name,
        "parameters": function.parameters,
        **said(description=function.description, strict=function.strict),
    }


def read_custom_call(item: JsonObject) -> FunctionCall:
    """A call of a custom tool as the function that the model calls."""
    arguments = orjson.dumps({"input": a_text(item.get("input"))}).decode()
    return FunctionCall(name=a_text(item.get("name")), arguments=arguments)


def free_text(arguments: str) -> str:
    """The one argument of a custom tool's call; what the model wrote where it is not what was asked for."""
    try:
        found = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    given = found.get("input") if isinstance(found, dict) else None
    return given if isinstance(given, str) else arguments


def _flattened(value: JsonValue) -> list[tuple[ToolSpec, Form | None]]:
    found: list[tuple[ToolSpec, Form | None]] = []
    for index, item in enumerate(a_list(value, "tools")):
        found += _read_tool(an_object(item, f"tools.{index}"), f"tools.{index}")
    return found


def _read_tool(tool: JsonObject, at: str) -> list[tuple[ToolSpec, Form | None]]:
    match tool.get("type", "function"):
        case "function":
            return [(_read_function(tool, at), None)]
        case "custom":
            return [_read_custom(tool, at)]
        case "namespace":
            return _read_namespace(tool, at)
        case kind:
            raise DialectError(
                f"{at}.type", f"{kind!r} is not supported, only 'function', 'custom' and 'namespace'"
            )


def _read_function(tool: JsonObject, at: str, namespace: JsonValue = None) -> ToolSpec:
    nested = tool.get("function")
    flat = nested if isinstance(nested, dict) else tool
    wanted = ("name", "description", "parameters", "strict")
    fields = said(**{name: flat.get(name) for name in wanted})
    if isinstance(name := fields.get("name"), str):
        fields["name"] = in_namespace(name, namespace)
    try:
        return ToolSpec(function=FunctionSpec.model_validate(fields))
    except ValidationError as error:
        raise DialectError(at, explain(error)) from error


def _read_custom(tool: JsonObject, at: str) -> tuple[ToolSpec, Form]:
    name = tool.get("name")
    if not isinstance(name, str):
        raise DialectError(f"{at}.name", "must name the tool")
    form = tool.get("format")
    rules = a_text(form.get("definition")) if isinstance(form, dict) else ""
    told = "\n\n".join(
        filter(None, (a_text(tool.get("description")), rules and f"`input` follows this grammar:\n{rules}"))
    )
    spec = FunctionSpec(name=name, description=told or None, parameters=_FREE_TEXT)
    return ToolSpec(function=spec), Form(name, custom=True)


def _read_namespace(tool: JsonObject, at: str) -> list[tuple[ToolSpec, Form | None]]:
    namespace = a_text(tool.get("name"))
    found: list[tuple[ToolSpec, Form | None]] = []
    for index, value in enumerate(a_list(tool.get("tools"), f"{at}.tools")):
        inner = an_object(value, f"{at}.tools.{index}")
        spec = _read_function(inner, f"{at}.tools.{index}", namespace)
        found.append((spec, Form(a_text(inner.get("name")), namespace)))
    return found
