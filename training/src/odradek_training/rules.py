"""What is done with groups that are not whole."""

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from odradek_schemas.base import Model

LEAST_PARTIAL = 2
"""A reward alone has nothing to be compared with."""


class Incomplete(StrEnum):
    """What becomes of a group that lacks rollouts: they are late, masked, stale, or can't be read.

    `drop`: it is dropped. `partial`: it is given out with what there is, if that is at least two. `wait`: as `drop`,
    but no rollout is ever late.
    """

    DROP = "drop"
    PARTIAL = "partial"
    WAIT = "wait"


class Rules(Model):
    """`group_deadline`: seconds, in the log's time, from a group's first reward on; what comes later is late.
    None: a group waits for its last rollout, which has a deadline of its own. `max_staleness`: versions of the
    policy. `include_masked`: masked rewards are members like others.
    """

    incomplete: Incomplete = Incomplete.DROP
    group_deadline: float | None = Field(default=None, gt=0)
    max_staleness: int | None = Field(default=None, ge=0)
    include_masked: bool = False

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.incomplete is Incomplete.WAIT and self.group_deadline is not None:
            raise ValueError(
                "incomplete='wait' has no group_deadline: choose 'drop' or 'partial', or leave it out"
            )
        return self
