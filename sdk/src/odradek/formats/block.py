"""What a foreign format has no place for, in a block of our own that its readers pass by.

With it a file is read back as it was written. What the format does hold (messages, tools, tokens) is not said twice,
unless it would not come back as it was: then the block holds the messages, too.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import to_jsonable_python

from odradek.formats.own import bad
from odradek.formats.records import BadRecord, Record
from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events import RewardAssigned
from odradek_schemas.messages import Message, TokenRecord, ToolSpec
from odradek_schemas.rollouts import ModelStep, Trajectory

BLOCK = "odradek"


class Block(Model):
    """`messages` and `tools` are only there where the format would change them. `tokens`: of the n-th model step."""

    trajectory: JsonObject
    replies: int = Field(description="Model steps, as a check that nobody changed the rollout.")
    length: int = Field(description="Messages, as a check that nobody changed the rollout.")
    messages: list[Message] | None = None
    tools: list[ToolSpec] | None = None
    tokens: list[TokenRecord | None] | None = None
    rewards: list[RewardAssigned] = Field(default_factory=list)
    answer: JsonObject | None = None


class Held(Model):
    """What a format held of a trajectory. `tokens`: by reply, in order; None where it had none."""

    messages: list[Message]
    tools: list[ToolSpec]
    tokens: list[TokenRecord | None]


def tokens_of(trajectory: Trajectory) -> list[TokenRecord | None]:
    """The tokens of each model step, in order."""
    return [step.tokens for step in trajectory.steps if isinstance(step, ModelStep)]


def write_block(record: Record, held: Held) -> JsonObject:
    """The block beside a format that holds `held`."""
    trajectory = record.trajectory
    rest = trajectory.model_dump(
        mode="json",
        exclude_none=True,
        exclude={"messages": True, "tools": True, "steps": {"__all__": {"tokens"}}},
    )
    tokens = tokens_of(trajectory)
    block = Block(
        trajectory=rest,
        replies=len(tokens),
        length=len(trajectory.messages),
        messages=None if held.messages == trajectory.messages else trajectory.messages,
        tools=None if held.tools == trajectory.tools else trajectory.tools,
        tokens=None if held.tokens == tokens else tokens,
        rewards=list(record.rewards),
        answer=record.answer,
    )
    written: JsonObject = block.model_dump(mode="json", exclude_none=True, exclude={"tokens"})
    if block.tokens is not None:
        written["tokens"] = to_jsonable_python(block.tokens, exclude_none=True)
    return written


def read_block(value: Any, held: Held, line: int) -> Record:
    """The record that was written with a block.

    Raises:
        BadRecord: it does not fit, or what the format holds was changed since.
    """
    try:
        block = Block.model_validate(value, extra="ignore")
        messages = held.messages if block.messages is None else block.messages
        tokens = held.tokens if block.tokens is None else block.tokens
        if len(messages) != block.length or len(tokens) != block.replies:
            raise BadRecord(line, BLOCK, _CHANGED.format(len(messages), block.length))
        trajectory = Trajectory.model_validate(
            block.trajectory
            | {"messages": messages, "tools": held.tools if block.tools is None else block.tools}
            | {"steps": _with_tokens(block.trajectory.get("steps"), tokens)},
            extra="ignore",
        )
    except ValidationError as error:
        raise bad(line, error, BLOCK) from error
    return Record(trajectory, tuple(block.rewards), block.answer)


_CHANGED = (
    "the rollout has {} messages and had {} when it was written: somebody changed it. Take the field out, and the row "
    "is read as one of another program"
)


def _with_tokens(steps: Any, tokens: Sequence[TokenRecord | None]) -> list[Any]:
    """The steps with their tokens put back."""
    following = iter(tokens)
    return [
        step | {"tokens": next(following)} if isinstance(step, dict) and step.get("kind") == "model" else step
        for step in steps or []
    ]
