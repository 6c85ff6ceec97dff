"""What the tools of all kinds stand on."""

from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema

from odradek_workplace_assistant.sheet import Edits, Sheet
from odradek_workplace_assistant.tables import SheetName, Tables


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


Text = Annotated[str | None, WithJsonSchema({"type": "string"}), Field(json_schema_extra=_without_default)]
"""A text that may be left out."""

Number = Annotated[int, Field(json_schema_extra=_without_default)]
"""A number that may be left out."""


class Office(BaseModel):
    """What a session did, laid over the tables: edits by table, and the plots that were made."""

    edits: dict[SheetName, Edits] = Field(default_factory=dict)
    plots: list[str] = Field(default_factory=list)


class Toolkit(ABC):
    """Tools of one kind. Each takes the office's state and reads or changes one of its tables."""

    @property
    @abstractmethod
    def tables(self) -> Tables:
        """The tables that sessions begin with."""

    def sheet(self, office: Office, name: SheetName) -> Sheet:
        """A table as the session sees it, to read."""
        return Sheet(self.tables.sheets[name], office.edits.get(name, Edits()))

    def desk(self, office: Office, name: SheetName) -> Sheet:
        """A table as the session sees it, to be changed."""
        return Sheet(self.tables.sheets[name], office.edits.setdefault(name, Edits()))
