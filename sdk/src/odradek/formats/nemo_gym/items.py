"""Items of a response as the replies of a model, each with its tokens, and what the tools answered."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import JsonValue, ValidationError

from odradek.dialects.core import DialectError
from odradek.dialects.responses.items import read_items, write_items
from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Message, TokenRecord

_TOKENS = ("prompt_token_ids", "generation_token_ids", "generation_log_probs")

Told = tuple[Message, TokenRecord | None]


def read_replies(items: list[JsonValue], at: str) -> list[Told]:
    """Messages in order, each reply with its tokens. The item that carries tokens is the last of its reply.

    Raises:
        DialectError: an item can't be read.
    """
    told: list[Told] = []
    for first, chunk in _chunks(items):
        messages = read_items(chunk, at)
        tokens = _tokens(chunk[-1], f"{at}.{first + len(chunk) - 1}")
        told += [(message, None) for message in messages]
        if tokens is not None and told and told[-1][0].role == "assistant":
            told[-1] = (told[-1][0], tokens)
    return told


def write_message(message: Message, tokens: TokenRecord | None, first: int) -> list[JsonObject]:
    """The items of one message; the last one carries its tokens. `first`: the number of the first of them.

    Raises:
        DialectError: a part of the message has no counterpart.
    """
    items = [_finished(item, index) for index, item in enumerate(write_items([message]), first)]
    if items and tokens is not None:
        items[-1] |= _written(tokens)
    return items


def _chunks(items: list[JsonValue]) -> Iterator[tuple[int, list[JsonValue]]]:
    """The items up to and with each one that carries tokens, and the number of the first of them."""
    first = 0
    for index, item in enumerate(items, 1):
        if index == len(items) or (isinstance(item, dict) and item.get(_TOKENS[1]) is not None):
            yield first, items[first:index]
            first = index


def _tokens(item: JsonValue, at: str) -> TokenRecord | None:
    found = {name: item.get(name) for name in _TOKENS} if isinstance(item, dict) else {}
    if all(value is None for value in found.values()):
        return None
    try:
        return TokenRecord.model_validate(
            {
                "prompt_token_ids": found[_TOKENS[0]],
                "completion_token_ids": found[_TOKENS[1]],
                "logprobs": found[_TOKENS[2]],
            }
        )
    except ValidationError as error:
        raise DialectError(
            f"{at}.{_TOKENS[0]}", "token ids must be whole numbers, log probs numbers"
        ) from error


def _written(record: TokenRecord) -> JsonObject:
    values: Iterable[Any] = (record.prompt_token_ids, record.completion_token_ids, record.logprobs)
    return {name: value for name, value in zip(_TOKENS, values, strict=True) if value is not None}


_IDS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fco"}


def _finished(item: JsonObject, index: int) -> JsonObject:
    prefix = _IDS.get(str(item.get("type")), "item")
    return {"id": f"{prefix}_{index}", "status": "completed", **item}
