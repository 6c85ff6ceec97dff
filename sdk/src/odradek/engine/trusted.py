"""Building records of parts that are valid already."""

from typing import Any, TypeVar

from odradek_schemas.base import Model

_M = TypeVar("_M", bound=Model)


def trusted(model: type[_M], fields: dict[str, Any]) -> _M:
    """An instance of `model` from *all* its fields, each taken from validated events: nothing is checked again.

    Checking a trajectory anew would cost as much as playing a short rollout. (`model_construct` costs more still: it
    works out defaults.)
    """
    instance = model.__new__(model)
    object.__setattr__(instance, "__dict__", fields)
    object.__setattr__(instance, "__pydantic_fields_set__", set(fields))
    object.__setattr__(instance, "__pydantic_extra__", None)
    object.__setattr__(instance, "__pydantic_private__", None)
    return instance
