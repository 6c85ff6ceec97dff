"""`control`: small, compacted, read by every worker from the start."""

from typing import Literal

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

    `counts`: how many they have had, the first number first. Each is more than the one before.
    """

    type: Literal["PartitionsAdded"] = "PartitionsAdded"
    counts: list[int]

    @property
    def key(self) -> str:
        return "partitions"
