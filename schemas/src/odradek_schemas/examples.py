"""Example values of any model, made from its fields: for golden records and for documentation. Deterministic."""

from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import JsonValue

from odradek_schemas.base import Model

M = TypeVar("M", bound=Model)

_TIME = datetime(2026, 11, 29, 19, 45, 12, 250_000, UTC)
_IDS = {
    "run_id": "mcqa-1129",
    "task_id": "mcqa-1129/0",
    "rollout_id": "mcqa-1129/0/0",
    "session_id": "mcqa-1129/0/0/1",
    "call_id": "mcqa-1129/0/0/1/2",
    "id": "mcqa-1129/0/0/1/2",
}
_SIMPLE: dict[Any, Any] = {int: 1, float: 0.5, bool: True, NoneType: None, datetime: _TIME}
_MOST_ALTERNATIVES = 16


def examples(model: type[M]) -> Iterator[M]:
    """The smallest value of `model`, then whole ones until each alternative of each union has been taken."""
    seen = set()
    for alternative in (None, *range(_MOST_ALTERNATIVES)):
        value = _build(model, alternative)
        text = value.model_dump_json()
        if text not in seen:
            seen.add(text)
            yield value


def _build(model: type[M], alternative: int | None) -> M:
    """`alternative` None: only what must be given; else all fields, with that alternative of each union."""
    fields = {
        name: _value(name, field.annotation, alternative or 0)
        for name, field in model.model_fields.items()
        if alternative is not None or field.is_required() or field.annotation is datetime
    }
    return model.model_validate(fields)


def _value(name: str, kind: Any, alternative: int) -> Any:
    if kind is JsonValue:
        return {"text": name, "numbers": [1, 0.5], "nothing": None}
    if kind is str:
        return _IDS.get(name, name)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _pick(list(kind), alternative)
    if isinstance(kind, type) and issubclass(kind, Model):
        return _build(kind, alternative)
    return _composed(name, kind, alternative)


def _composed(name: str, kind: Any, alternative: int) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _value(name, arguments[0], alternative)
    if origin is Literal:
        return _pick(arguments, alternative)
    if origin in (Union, UnionType):
        members = [member for member in arguments if member is not NoneType]
        return _value(name, _pick(members, alternative), alternative)
    if origin is list:
        return [_value(name, arguments[0], alternative)]
    if origin is dict:
        return {"name": _value(name, arguments[1], alternative)}
    raise TypeError(f"field {name!r}: no example for the type {kind!r}")


def _pick(choices: Any, alternative: int) -> Any:
    return choices[alternative % len(choices)]
