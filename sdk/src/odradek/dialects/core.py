"""The conversation that all dialects mean: a request, and the reply to it."""

from dataclasses import dataclass, field
from hashlib import blake2b

import orjson
from pydantic import Field, JsonValue, ValidationError

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.codec import explain
from odradek_schemas.messages import Message, Sampling, TokenRecord, ToolSpec, Usage

MOST_TOKENS = 2**53
"""Of any count: what JSON can say for certain."""


class DialectError(ValueError):
    """A body can't be read, or a request can't be said in a dialect. `field` is a dotted path into the body."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class ChatRequest(Model):
    """A request in the shape of chat completions."""

    messages: list[Message]
    tools: list[ToolSpec] = Field(default_factory=list)
    sampling: Sampling = Field(default_factory=Sampling)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, why it stopped, and what it cost.

    `finish_reason` is chat completions': `stop`, `length`, `tool_calls` or `content_filter`, or a server's own word.
    """

    message: Message
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    tokens: TokenRecord | None = None


def sampling_of(found: JsonObject, names: dict[str, str] | None = None) -> Sampling:
    """The sampling parameters in `found`; what is None counts as left out. `names`: fields by their dialect's names.

    Raises:
        DialectError: a parameter is out of its range or of the wrong type; names it as the dialect does.
    """
    try:
        return Sampling.model_validate({name: value for name, value in found.items() if value is not None})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        raise DialectError((names or {}).get(name, name), explain(error)) from error


def an_object(value: JsonValue, at: str) -> JsonObject:
    """`value`, which must be an object. Raises DialectError."""
    if not isinstance(value, dict):
        raise DialectError(at, "must be an object")
    return value


def a_list(value: JsonValue, at: str) -> list[JsonValue]:
    """`value`, which must be a list; None is an empty one. Raises DialectError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise DialectError(at, "must be a list")
    return value


def a_text(value: JsonValue) -> str:
    """`value` where it is text, else nothing."""
    return value if isinstance(value, str) else ""


def a_count(counts: JsonObject, name: str, at: str) -> int:
    """The whole number `name` of `counts`; 0 where it is missing or null. Raises DialectError."""
    value = counts.get(name)
    if value is None:
        return 0
    if not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS or value != value // 1:
        raise DialectError(f"{at}.{name}", f"must be a whole number from 0 on, not {value!r}")
    return int(value)


def usage_of(value: JsonValue, asked: str, given: str) -> Usage:
    """Token counts as OpenAI's APIs tell them; what is missing counts as 0. Raises DialectError.

    Args:
        asked, given: what prompt and reply are called there, such as `input` and `output`.
    """
    usage = an_object(value or {}, "usage")
    of_asked, of_given = f"{asked}_tokens_details", f"{given}_tokens_details"
    prompt = an_object(usage.get(of_asked) or {}, f"usage.{of_asked}")
    reply = an_object(usage.get(of_given) or {}, f"usage.{of_given}")
    return Usage(
        prompt_tokens=a_count(usage, f"{asked}_tokens", "usage"),
        completion_tokens=a_count(usage, f"{given}_tokens", "usage"),
        cached_tokens=a_count(prompt, "cached_tokens", f"usage.{of_asked}"),
        reasoning_tokens=a_count(reply, "reasoning_tokens", f"usage.{of_given}"),
    )


def usage_as(usage: Usage, asked: str, given: str) -> JsonObject:
    """The same the other way: `usage` of a reply, with its details."""
    return {
        f"{asked}_tokens": usage.prompt_tokens,
        f"{asked}_tokens_details": {"cached_tokens": usage.cached_tokens},
        f"{given}_tokens": usage.completion_tokens,
        f"{given}_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def said(**fields: JsonValue) -> JsonObject:
    """An object of what is not None."""
    return {name: value for name, value in fields.items() if value is not None}


def tool_call_id(call_id: str, index: int) -> str:
    """The id of a call's tool call number `index`: the same each time, and short enough for every provider."""
    return f"call_{blake2b(f'{call_id}/{index}'.encode(), digest_size=12).hexdigest()}"


def arguments_text(arguments: JsonValue) -> str:
    """A call's arguments as JSON text, as the model wrote it; some servers have parsed it, or leave out what is empty."""
    if isinstance(arguments, str) and arguments:
        return arguments
    return orjson.dumps(arguments).decode() if arguments else "{}"
