"""`control`: small, compacted, read by every worker from the start."""

from typing import Literal

from pydantic import Field, field_validator

from odradek_schemas.events.base import Event, RunEvent


class RunCancelled(RunEvent):
    """Stop the rollouts of a run that are under way, and admit no more."""

    type: Literal["RunCancelled"] = "RunCancelled"
    reason: str


class PolicyUpdated(Event):
    """A model's weights changed: calls made from now on carry `version`."""

    type: Literal["PolicyUpdated"] = "PolicyUpdated"
    model: str
    version: str

    @property
    def key(self) -> str:
        return self.model


class PartitionsAdded(Event):
    """The topics have, or are just being given, more partitions than before.

    `counts`: how many they have had, in the order of time: each more than the one before.
    """

    type: Literal["PartitionsAdded"] = "PartitionsAdded"
    counts: list[int] = Field(min_length=1)

    @field_validator("counts")
    @classmethod
    def _grow(cls, counts: list[int]) -> list[int]:
        if counts[0] < 1 or counts != sorted(set(counts)):
            raise ValueError("partitions are only ever added: each number must be more than the one before")
        return counts

    @property
    def key(self) -> str:
        return "partitions"
