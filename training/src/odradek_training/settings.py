"""How a stream is to be: its parameters, checked."""

from datetime import datetime

from pydantic import Field, ValidationError

from odradek_schemas.base import Model
from odradek_schemas.codec import explain
from odradek_training.rules import Rules
from odradek_training.selection import Selection

IDLE_SECONDS = 600.0


class StreamSettings(Model):
    """See `RewardStream`."""

    selection: Selection
    rules: Rules = Rules()
    group_size: int | None = Field(default=None, ge=1)
    ahead: int | None = Field(default=None, ge=1)
    since: datetime | None = None
    idle_timeout: float = Field(default=IDLE_SECONDS, gt=0)


def checked(selection: dict[str, object], rules: dict[str, object], **others: object) -> StreamSettings:
    """The settings, of parts that may be wrong.

    Raises:
        ValueError: one is; the message names each.
    """
    try:
        return StreamSettings.model_validate({"selection": selection, "rules": rules, **others})
    except ValidationError as error:
        raise ValueError(explain(error)) from error
