"""Digests of JSON values: what an unfinished rollout said is compared by 64 bits a value, not kept.

They are salted anew in each process, so they mean nothing outside it.
"""

import json
from collections.abc import Iterable
from typing import Any

import orjson
from pydantic_core import from_json

Digest = int
Messages = tuple[Digest, ...]
"""A conversation, message by message."""


def parse(value: bytes) -> Any:
    """Read JSON, with the constants that pydantic writes for what is not finite.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return from_json(value, allow_inf_nan=True)


def digest(value: Any) -> Digest:
    """The same for equal JSON values, whatever the order of their keys."""
    try:
        return hash(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    except TypeError:  # an integer beyond 64 bits
        return hash(json.dumps(value, sort_keys=True))


def digests(values: Iterable[Any]) -> Messages:
    return tuple([digest(value) for value in values])


def fields(body: dict[str, Any], *names: str) -> Digest:
    """The digest of some fields; one that is missing is as good as null."""
    return digest([body.get(name) for name in names])
