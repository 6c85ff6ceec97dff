"""The base of every record type.

Writers are strict and readers are tolerant: building a model with an unknown field is an error, reading a record
that carries one (written by a newer Odradek) is not. The codec asks for the latter with `extra="ignore"`.
"""

from pydantic import BaseModel, ConfigDict, JsonValue

JsonObject = dict[str, JsonValue]


class Model(BaseModel):
    """A closed, immutable value."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_inf_nan="constants", protected_namespaces=()
    )
