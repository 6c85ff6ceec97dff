"""The base of every record type.

Writers are strict and readers are tolerant: building a model with an unknown field is an error, reading a record
that carries one (written by a newer Odradek) is not. The codec asks for the latter with `extra="ignore"`.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Model(BaseModel):
    """A closed, immutable value."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_inf_nan="constants", protected_namespaces=()
    )


_M = TypeVar("_M", bound=Model)


def trusted(model: type[_M], fields: dict[str, Any]) -> _M:
    """An instance of `model` from *all* its fields, each valid already: nothing is checked again.

    For what is built thousands of times a second of parts of events that were checked when they were read.
    (`model_construct` costs more than checking: it works out defaults.)
    """
    instance = model.__new__(model)
    object.__setattr__(instance, "__dict__", fields)
    object.__setattr__(instance, "__pydantic_fields_set__", set(fields))
    object.__setattr__(instance, "__pydantic_extra__", None)
    object.__setattr__(instance, "__pydantic_private__", None)
    return instance
