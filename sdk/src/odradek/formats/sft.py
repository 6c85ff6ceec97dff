"""Chat examples for supervised fine-tuning: `{"messages": [...], "tools": [...], "reward": 1.0}`, in OpenAI's shapes.

A rollout of a harness is one conversation. A program puts its prompts together as it likes, so its rollout gives one
example for each conversation that it carried on: those that another one only continues are left out.
"""

from collections.abc import Iterator, Sequence

from odradek.formats.records import Record
from odradek_schemas.base import JsonObject
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.rollouts import ModelStep, Trajectory


def write(record: Record, scoring: str = PRIMARY_SCORING) -> Iterator[JsonObject]:
    """The examples of a rollout; none where no model answered."""
    trajectory, reward = record.trajectory, record.reward(scoring)
    for places, tools in conversations(trajectory):
        example: JsonObject = {
            "messages": [
                trajectory.messages[place].model_dump(mode="json", exclude_none=True) for place in places
            ]
        }
        if tools:
            example["tools"] = [
                trajectory.tools[number].model_dump(mode="json", exclude_none=True) for number in tools
            ]
        example["rollout_id"] = trajectory.rollout_id
        if reward is not None and reward.reward is not None:
            example["reward"] = reward.reward
        yield example


def conversations(trajectory: Trajectory) -> list[tuple[Sequence[int], Sequence[int]]]:
    """The conversations of a rollout, each as the numbers of its messages and of the tools that were offered in it."""
    replies = [step for step in trajectory.steps if isinstance(step, ModelStep)]
    if not replies:
        return []
    tools = range(len(trajectory.tools))
    if all(step.context is None for step in replies):
        return [(range(len(trajectory.messages)), tools)]
    talks = [
        (
            (*(range(step.message) if step.context is None else step.context), step.message),
            tools if step.offered is None else step.offered,
        )
        for step in replies
    ]
    return [talk for talk in talks if not any(_continues(other, talk[0]) for other, _ in talks)]


def _continues(longer: Sequence[int], talk: Sequence[int]) -> bool:
    """Whether one conversation is the beginning of another."""
    return len(longer) > len(talk) and tuple(longer[: len(talk)]) == tuple(talk)
