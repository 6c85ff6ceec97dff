"""What calls come to: the office's tables after them, as short prints that can be compared anywhere."""

from hashlib import sha256

from pydantic import BaseModel, Field, field_validator
from pydantic_core import from_json, to_json

from odradek import JsonObject
from odradek_workplace_assistant.tables import SHEETS
from odradek_workplace_assistant.toolkits.toolkit import Office, Toolkit

_DIGITS = 16


class Action(BaseModel):
    """One call that solves a part of a task."""

    name: str
    arguments: JsonObject = Field(description="An object, or its JSON text.")

    @field_validator("arguments", mode="before")
    @classmethod
    def _read(cls, arguments: object) -> object:
        return from_json(arguments) if isinstance(arguments, str) else arguments


class Outcome(BaseModel):
    """Which tables there were, and a print of each as it is in the end; `analytics` is that of the plots."""

    tables: str
    prints: dict[str, str]

    def equal_parts(self, other: "Outcome") -> dict[str, bool]:
        """By table, whether both are the same there."""
        return {name: print == other.prints.get(name) for name, print in self.prints.items()}


def outcome(toolkit: Toolkit, office: Office) -> Outcome:
    """What `office` has come to."""
    prints = {name: toolkit.sheet(office, name).print() for name in SHEETS}
    plots = to_json([plot.lower() for plot in office.plots])
    return Outcome(
        tables=toolkit.tables.print,
        prints=prints | {"analytics": sha256(plots).hexdigest()[:_DIGITS]},
    )


def without_nulls(arguments: str) -> str:
    """A call's arguments without those that are null, which models write for what they leave out."""
    try:
        read = from_json(arguments)
    except ValueError:
        return arguments
    if not isinstance(read, dict) or None not in read.values():
        return arguments
    return to_json({name: value for name, value in read.items() if value is not None}).decode()
