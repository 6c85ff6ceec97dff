"""`rescores`: trajectories that are to be scored again."""

from typing import Literal

from pydantic import Field, field_validator

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events.base import Event
from odradek_schemas.events.results import RESERVED_SCORINGS


class RescoreCounts(Model):
    """`scored`: trajectories that have, or wait for, a reward of the re-score; `skipped`: others in the range."""

    scored: int = 0
    skipped: int = 0


class RescoreEvent(Event):
    """Of one re-score's work on one partition of `trajectories`."""

    rescore_id: str
    partition: int
    counts: RescoreCounts = Field(default_factory=RescoreCounts)

    @property
    def key(self) -> str:
        return self.rescore_id


class RescoreRequested(RescoreEvent):
    """Score the trajectories at the offsets from `start` up to `end` again. `counts`: what lay before `start`.

    `run_id`, `environment`: only those. `verifier`: whose `verify` scores, None: the trajectory's own environment's.
    `settings` go over those of the record. A worker does a piece, and asks for the rest in the same transaction.
    """

    type: Literal["RescoreRequested"] = "RescoreRequested"
    environment: str | None = None
    verifier: str | None = None
    settings: JsonObject = Field(default_factory=dict)
    start: int
    end: int

    @field_validator("rescore_id")
    @classmethod
    def _is_its_own(cls, rescore_id: str) -> str:
        if rescore_id in RESERVED_SCORINGS:
            raise ValueError(f"{rescore_id!r} names the rewards that runs have of themselves")
        return rescore_id


class RescoreFinished(RescoreEvent):
    """All of the partition's range was gone through. Rewards that judges have a say in may still be to come."""

    type: Literal["RescoreFinished"] = "RescoreFinished"
