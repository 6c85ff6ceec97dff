"""A rollout: what bounds it, how it ends, and the record of what happened in it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Message, Sampling, TokenRecord, ToolSpec, Usage


class Limits(Model):
    """The bounds of one rollout. Every wait in it has one of these deadlines, in seconds."""

    max_turns: int = Field(default=16, ge=1, description="Most model calls of one attempt.")
    max_total_tokens: int | None = Field(
        default=None, ge=1, description="Most tokens of one attempt, all calls."
    )
    max_attempts: int = Field(default=3, ge=1, description="Attempts when the infrastructure fails.")
    model_seconds: float = Field(default=300.0, gt=0)
    tool_seconds: float = Field(default=60.0, gt=0)
    session_seconds: float = Field(default=120.0, gt=0)
    program_seconds: float = Field(default=1800.0, gt=0, description="One run of an agent program.")
    rollout_seconds: float = Field(
        default=3600.0, gt=0, description="The whole rollout, all attempts together."
    )


class RolloutStatus(StrEnum):
    """How a rollout ended. `truncated` hit a bound of its own and is still scored; `failed` is not."""

    COMPLETED = "completed"
    TRUNCATED = "truncated"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Group(Model):
    """The rollouts of one task within a run, compared with each other by GRPO and pass@k. `size` is planned."""

    task_id: str
    size: int = Field(ge=1)


class ModelStep(Model):
    """One answered model call; its reply is `messages[message]` of the trajectory.

    `sampling`: what it was asked with, where that is not the rollout's own. `context`: the numbers of the messages that
    it was asked with, and `offered` those of the tools, where it is a program's call: programs put their prompts
    together as they like. None: all messages before the reply, and all tools.
    """

    kind: Literal["model"] = "model"
    call_id: str
    turn: int
    message: int
    finish_reason: str
    usage: Usage
    latency_ms: float
    sampling: Sampling | None = None
    tokens: TokenRecord | None = None
    context: list[int] | None = None
    offered: list[int] | None = None


class ToolStep(Model):
    """One answered tool call; its observation is `messages[message]` of the trajectory.

    `interrupted`: it was cut short, and nobody knows whether it took effect outside the session.
    """

    kind: Literal["tool"] = "tool"
    call_id: str
    turn: int
    message: int
    name: str
    is_error: bool = False
    latency_ms: float
    interrupted: bool = False


class ProgramStep(Model):
    """A program that ran to its end; see `ProgramFinished`. The steps before it hold the model calls that it made."""

    kind: Literal["program"] = "program"
    call_id: str
    program: str
    exit_code: int | None = None
    result: str = ""
    failed: str | None = None
    overdue: bool = False
    log: str = ""
    latency_ms: float


Step = Annotated[ModelStep | ToolStep | ProgramStep, Field(discriminator="kind")]


class Trajectory(Model):
    """The self-contained record of one rollout: enough to score it again without the world it happened in.

    `messages` is the whole conversation of the last attempt, the first `prompt_messages` of which are the prompt. Where a
    program played, they are all messages that it sent and got, each once, in the order in which they came up.
    `evidence` is what only the live world could tell; where it would give the answer away it is sealed.
    `usage` and `cost` (US dollars, None where no price is known) are those of all attempts together.
    `settings` are those of the environment. `sampling` is what the model was asked with; `token_coverage` the share of its calls that can be trained on token for
    token, None where no upstream returned tokens.
    """

    run_id: str
    rollout_id: str
    group: Group
    sample: int
    environment: str
    harness: str
    model: str
    seed: int
    task: JsonObject
    settings: JsonObject = Field(default_factory=dict)
    sealed_answer: str | None = None
    messages: list[Message]
    prompt_messages: int
    tools: list[ToolSpec] = Field(default_factory=list)
    steps: list[Step] = Field(default_factory=list)
    status: RolloutStatus
    truncated_by: str | None = None
    failure: Failure | None = None
    attempt: int = 1
    failed_attempts: list[Failure] = Field(default_factory=list)
    evidence: JsonObject | None = None
    sealed_evidence: str | None = None
    final_state: JsonObject | None = None
    usage: Usage = Field(default_factory=Usage)
    cost: float | None = None
    sampling: Sampling = Field(default_factory=Sampling)
    token_coverage: float | None = None
    started_at: datetime
    finished_at: datetime

    @property
    def turns(self) -> int:
        """Model calls answered in the last attempt."""
        return sum(step.kind == "model" for step in self.steps)

    @property
    def final_message(self) -> Message | None:
        """The model's last message, None when it never answered."""
        replies = (m for m in reversed(self.messages[self.prompt_messages :]) if m.role == "assistant")
        return next(replies, None)


class Transcript(Model):
    """What an attempt's session is told of it at the end: the conversation behind the prompt, whose it is, why the last
    reply ended (None: there was none), and the tokens of all replies."""

    model: str
    messages: list[Message]
    finish_reason: str | None = None
    usage: Usage = Field(default_factory=Usage)


class Reward(Model):
    """What a verifier says of a trajectory: the reward, its named components, and details for a person."""

    reward: float
    components: dict[str, float] = Field(default_factory=dict)
    details: JsonObject = Field(default_factory=dict)


class Question(Model):
    """What a verifier wants a model to judge. `model` None: the one that played the rollout."""

    name: str
    messages: list[Message]
    model: str | None = None
    sampling: Sampling = Field(default_factory=Sampling)


class Reply(Model):
    """What came of a question: the judge's message, or the failure that is there in its place."""

    question: str
    message: Message | None = None
    failure: Failure | None = None


class Judgement(Model):
    """One answered question behind a reward. Its prompt, which may hold the answer, is not repeated here."""

    call_id: str
    model: str
    reply: Reply
    usage: Usage = Field(default_factory=Usage)
    cost: float | None = None


class TrainingSample(Model):
    """One sequence to train on. `token_ids`, `loss_mask` and `logprobs` have the same length, [tokens].

    `loss_mask` is 1 where the model chose the token; `logprobs` (nats) are of those, and 0.0 elsewhere.
    `policy_versions` and `finish_reasons` go with `call_ids`.
    """

    token_ids: list[int] = Field(default_factory=list)
    loss_mask: list[int] = Field(default_factory=list)
    logprobs: list[float] = Field(default_factory=list)
    call_ids: list[str] = Field(default_factory=list)
    policy_versions: list[str | None] = Field(default_factory=list)
    finish_reasons: list[str] = Field(default_factory=list)

    @property
    def prompt_length(self) -> int:
        """How many tokens come before the first that the model chose."""
        return self.loss_mask.index(1) if 1 in self.loss_mask else len(self.loss_mask)
