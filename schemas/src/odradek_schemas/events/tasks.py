"""`tasks`: the rollouts that are to be played."""

from typing import Literal

from pydantic import Field

from odradek_schemas.base import JsonObject
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.messages import Message, Sampling, ToolSpec
from odradek_schemas.rollouts import Group, Limits


class RolloutRequested(RolloutEvent):
    """Play one rollout. Holds all that the agent's side may know; the answer is sealed."""

    type: Literal["RolloutRequested"] = "RolloutRequested"
    group: Group
    sample: int
    environment: str
    harness: str
    model: str
    messages: list[Message]
    tools: list[ToolSpec] = Field(default_factory=list)
    session: bool = Field(description="Whether the environment has a world that must be opened and closed.")
    task: JsonObject
    settings: JsonObject = Field(default_factory=dict, description="The environment's.")
    sealed_answer: str | None = None
    seed: int
    sampling: Sampling = Field(default_factory=Sampling)
    limits: Limits = Field(default_factory=Limits)
