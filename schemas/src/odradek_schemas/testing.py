"""Hypothesis strategies for events and the models in them. Needs hypothesis, which only those who test have."""

from datetime import UTC, datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import annotated_types
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic.fields import FieldInfo

from odradek_schemas.base import Model

M = TypeVar("M", bound=Model)

_finite = st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _finite | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
_names = st.text(min_size=1, max_size=12)
_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**62), 2**62),
    float: st.floats(allow_nan=False),
    str: st.text(max_size=12),
    NoneType: st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    JsonValue: json_values,
}


def values(model: type[M]) -> st.SearchStrategy[M]:
    """Any value of `model`; optional fields are sometimes left to their defaults."""
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in model.model_fields.items():
        (required if field.is_required() else optional)[name] = _field(name, field)
    return st.fixed_dictionaries(required, optional=optional).map(model.model_validate)


def _field(name: str, field: FieldInfo) -> st.SearchStrategy[Any]:
    if name in ("id", "run_id", "rollout_id", "session_id", "model") and field.annotation is str:
        return _names
    return _bounded(_of(field.annotation), field.metadata)


def _of(kind: Any) -> st.SearchStrategy[Any]:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if isinstance(kind, type) and issubclass(kind, Model):
        return st.deferred(lambda: values(kind))
    return _composed(get_origin(kind), get_args(kind))


def _composed(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is Annotated:
        return _bounded(_of(arguments[0]), list(arguments[1:]))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*map(_of, arguments))
    if origin is list:
        return st.lists(_of(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(st.text(max_size=6), _of(arguments[1]), max_size=3)
    raise TypeError(f"no strategy for {origin!r} of {arguments!r}")


def _bounded(strategy: st.SearchStrategy[Any], metadata: list[Any]) -> st.SearchStrategy[Any]:
    return strategy.map(lambda value: _within(value, metadata)) if metadata else strategy


def _within(value: Any, metadata: list[Any]) -> Any:
    """`value`, moved to where the bounds in `metadata` allow it."""
    for bound in metadata if value is not None else ():
        if isinstance(bound, annotated_types.Ge):
            value = max(bound.ge, abs(value))
        elif isinstance(bound, annotated_types.Gt):
            value = abs(value) or 1
        elif isinstance(bound, annotated_types.Le):
            value = min(bound.le, value)
    return value
