"""Where a stream stands: a value that a trainer keeps in its own checkpoint and gives back."""

from typing import Literal

from pydantic import Field, ValidationError

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.codec import explain
from odradek_training.errors import PositionDiffers
from odradek_training.selection import Selection


class Position(Model):
    """Enough to go on so that no group is given out twice and none is missed.

    `offsets`: per partition of `rewards`, the first record that a group not yet decided needs. Behind these lie
    records of groups that *are* decided: `done` names them, each with how many of its records are still to be met
    (again, or for the first time). `decided` counts decided groups by run, for the demand.
    A group is decided when it was given out or dropped.
    """

    version: Literal[1] = 1
    selection: Selection
    offsets: dict[int, int] = Field(default_factory=dict)
    done: dict[str, int] = Field(default_factory=dict)
    decided: dict[str, int] = Field(default_factory=dict)

    def dump(self) -> JsonObject:
        """As JSON has it."""
        return self.model_dump(mode="json")


def read_position(value: object, selection: Selection) -> Position:
    """The position that `dump` gave.

    Raises:
        PositionDiffers: it is not one, or one of a stream that reads other rewards.
    """
    try:
        position = Position.model_validate(value)
    except ValidationError as error:
        raise PositionDiffers(
            f"the position can't be read: {explain(error)}; give back what position() gave"
        ) from error
    for name in Selection.model_fields:
        was, now = getattr(position.selection, name), getattr(selection, name)
        if was != now:
            raise PositionDiffers(
                f"the position is of a stream with {name} {was!r}, this one has {now!r}: "
                "open the stream as it was, or begin without a position"
            )
    return position
