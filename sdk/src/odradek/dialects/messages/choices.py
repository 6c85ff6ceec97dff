"""How Anthropic Messages says which tool, which format and how much thought.

Source: the Anthropic API reference, "Create a Message" (`tool_choice`, `output_config`, `thinking`).
"""

from pydantic import JsonValue

from odradek.dialects.core import DialectError, an_object
from odradek_schemas.base import JsonObject

LEAST_BUDGET = 1024
"""Tokens of thinking that the API accepts at least."""
_BUDGETS = {"low": 2048, "medium": 8192, "high": 24_576}
_WORDS = {"auto": "auto", "any": "required", "none": "none"}


def read_choice(value: JsonValue) -> tuple[JsonValue, bool | None]:
    """`tool_choice` and `parallel_tool_calls` as chat completions has them. Raises DialectError."""
    if value is None:
        return None, None
    choice = an_object(value, "tool_choice")
    parallel = False if choice.get("disable_parallel_tool_use") else None
    if choice.get("type") == "tool":
        return {"type": "function", "function": {"name": choice.get("name")}}, parallel
    word = _WORDS.get(str(choice.get("type")))
    if word is None:
        raise DialectError("tool_choice.type", f"{choice.get('type')!r} is not one of auto, any, tool, none")
    return word, parallel


def write_choice(choice: JsonValue, parallel: bool | None) -> JsonObject | None:
    """The object that says both; None: nothing was asked for."""
    if choice is None and parallel is not False:
        return None
    told: JsonObject = {"type": "auto"}
    if isinstance(choice, dict):
        told = {"type": "tool", "name": an_object(choice.get("function"), "tool_choice.function").get("name")}
    elif choice is not None:
        told = {"type": {"required": "any"}.get(str(choice), choice)}
    return {**told, "disable_parallel_tool_use": True} if parallel is False else told


def read_format(config: JsonValue) -> JsonObject | None:
    """`output_config.format` as a `response_format`."""
    wanted = config.get("format") if isinstance(config, dict) else None
    if not isinstance(wanted, dict):
        return None
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": wanted.get("schema")}}


def write_format(response_format: JsonObject | None) -> JsonObject | None:
    """A `response_format` with a schema as `output_config`. Raises DialectError for one without."""
    if response_format is None or response_format.get("type") == "text":
        return None
    described = response_format.get("json_schema")
    if not isinstance(described, dict):
        raise DialectError("response_format", "Anthropic Messages binds a reply by a JSON Schema alone")
    return {"format": {"type": "json_schema", "schema": described.get("schema")}}


def read_effort(body: JsonObject) -> str | None:
    """How much thought is asked for, in the words of `reasoning_effort`; None: it is left to the model."""
    config, thinking = body.get("output_config"), body.get("thinking")
    if isinstance(config, dict) and isinstance(effort := config.get("effort"), str):
        return effort
    if not isinstance(thinking, dict) or not isinstance(budget := thinking.get("budget_tokens"), int):
        return None
    return next((word for word, most in _BUDGETS.items() if budget <= most), "high")


def write_effort(effort: str | None, most_tokens: int) -> JsonObject | None:
    """A budget of thinking, which must stay below `max_tokens`; None: no thinking."""
    budget = min(_BUDGETS.get(effort or "", 0), most_tokens - 1)
    return {"type": "enabled", "budget_tokens": budget} if budget >= LEAST_BUDGET else None
