"""`<worker>-positions`: how far a worker has read its inputs, written in the transaction of what it made of them."""

from typing import Literal

from odradek_schemas.base import Model
from odradek_schemas.events.base import Event


class InputPosition(Model):
    """Of one input: the first offset never handed out, and what else must be known to go on from there."""

    offset: int
    metadata: str = ""


class PositionsCommitted(Event):
    """The positions of all inputs of partition number `partition`, by logical topic. The newest one counts."""

    type: Literal["PositionsCommitted"] = "PositionsCommitted"
    worker: str
    partition: int
    positions: dict[str, InputPosition]

    @property
    def key(self) -> str:
        return self.worker
