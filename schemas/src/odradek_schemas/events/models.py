"""`model-calls` and `model-results`."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from odradek_schemas.base import Model
from odradek_schemas.events.base import RolloutEvent
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Message, Sampling, TokenRecord, ToolSpec, Usage


class ModelCallRequested(RolloutEvent):
    """Ask `model` for one reply. `id` is the call's id; `deadline` is when nobody waits for it any more."""

    type: Literal["ModelCallRequested"] = "ModelCallRequested"
    model: str
    messages: list[Message]
    tools: list[ToolSpec] = Field(default_factory=list)
    sampling: Sampling = Field(default_factory=Sampling)
    deadline: datetime


class Asked(Model):
    """What a program asked over HTTP, where there is no `ModelCallRequested`.

    `dialect`: `chat`, `responses` or `messages`; `digest`: of the request's body as it came; `mark`: its idempotency key.
    """

    dialect: str
    messages: list[Message]
    tools: list[ToolSpec] = Field(default_factory=list)
    sampling: Sampling = Field(default_factory=Sampling)
    streamed: bool = False
    digest: str
    mark: str | None = None


class ModelCallCompleted(RolloutEvent):
    """The reply to call `call_id`. Once this is committed, the call is never made again.

    `cost`: US dollars, None where the gateway knows no price of the model.
    """

    type: Literal["ModelCallCompleted"] = "ModelCallCompleted"
    call_id: str
    model: str
    message: Message
    finish_reason: str
    usage: Usage
    latency_ms: float
    tries: int = 1
    tokens: TokenRecord | None = None
    cost: float | None = None
    asked: Asked | None = None


class ModelCallFailed(RolloutEvent):
    type: Literal["ModelCallFailed"] = "ModelCallFailed"
    call_id: str
    failure: Failure
    tries: int = 0


class ModelAccessEnded(RolloutEvent):
    """No call of the program that `program_id` asked for is answered any more: its token counts for nothing.

    After `expires` it has expired by itself.
    """

    type: Literal["ModelAccessEnded"] = "ModelAccessEnded"
    program_id: str
    reason: str
    expires: datetime
