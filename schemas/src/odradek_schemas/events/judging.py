"""`judging`: scorings that wait for judges, the verifier-worker's changelog."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.events.letters import RecordCoordinates
from odradek_schemas.rollouts import Judgement


class AskedQuestion(Model):
    """A question that was asked of a model, and the judgement where it has come."""

    call_id: str
    question: str
    model: str
    judgement: Judgement | None = None


class JudgingChanged(RolloutEvent):
    """One rollout's scoring and what it waits for. `id` names the scoring; a tombstone follows when it has its reward.

    `rounds`: what was answered before; `asked`: the round that is under way. From `deadline` on the questions that
    are still open count as failed. `record` is where the trajectory lies.
    """

    type: Literal["JudgingChanged"] = "JudgingChanged"
    scoring: str
    verifier: str | None = None
    settings: JsonObject = Field(default_factory=dict)
    record: RecordCoordinates
    rounds: list[list[Judgement]] = Field(default_factory=list)
    asked: list[AskedQuestion]
    deadline: datetime

    @property
    def key(self) -> str:
        return self.id
