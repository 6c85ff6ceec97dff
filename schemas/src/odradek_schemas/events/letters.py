"""`dead-letters`: what could not be read, kept whole, with where it was and why."""

from typing import Literal

from pydantic import Field

from odradek_schemas.base import Model
from odradek_schemas.events.base import Event


class RecordCoordinates(Model):
    """Where a record lies."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class RecordRejected(Event):
    """A record that a worker could not read. `record_key`, `record_value`: base64; `headers`: text where it is text."""

    type: Literal["RecordRejected"] = "RecordRejected"
    record: RecordCoordinates
    worker: str
    reason: str
    record_key: str | None = None
    record_value: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)

    @property
    def key(self) -> str:
        return str(self.record)
