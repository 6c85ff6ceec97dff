"""A record as a row of NeMo Gym's 0.7."""

from typing import Any

from odradek.dialects.core import ChatRequest, DialectError, usage_as
from odradek.dialects.nemo_gym import PARAMETERS
from odradek.dialects.responses import read_request, write_request
from odradek.dialects.responses.items import read_items, write_items
from odradek.dialects.responses.replies import USAGE, response_of
from odradek.dialects.responses.tools import write_tool
from odradek.formats.block import BLOCK, Held, write_block
from odradek.formats.nemo_gym.failures import write_kind
from odradek.formats.nemo_gym.items import read_replies, write_message
from odradek.formats.nemo_gym.observed import write_observed
from odradek.formats.records import Record
from odradek_schemas.base import JsonObject
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.messages import Message
from odradek_schemas.rollouts import ModelStep, Trajectory


def write(record: Record, scoring: str = PRIMARY_SCORING) -> JsonObject:
    """The row of a record, with the reward of `scoring`.

    Parts of messages that the Responses API has no counterpart for are said as text; the block keeps them as they were.
    """
    trajectory = record.trajectory
    prompt, parameters = _request(trajectory)
    output = _output(trajectory)
    row: JsonObject = {
        **trajectory.task,
        PARAMETERS: parameters,
        "response": _response(trajectory, output),
        **_scored(record, scoring),
        "agent_ref": {"type": "responses_api_agents", "name": trajectory.harness},
        "_ng_task_index": _number(trajectory.group.task_id),
        "_ng_rollout_index": trajectory.sample,
        "ng_trajectory": write_observed(trajectory, [*prompt, *output]),
    }
    row[BLOCK] = write_block(record, _held(parameters, output))
    return row


def _request(trajectory: Trajectory) -> tuple[list[JsonObject], JsonObject]:
    """The items of the prompt, and all parameters."""
    messages = trajectory.messages[: trajectory.prompt_messages]
    request = ChatRequest(messages=[], tools=trajectory.tools, sampling=trajectory.sampling)
    parameters = write_request(request, trajectory.model)
    items = [item for message in messages for item in _items(message)]
    parameters["input"] = [*items]
    for name in ("store", "include"):
        parameters.pop(name, None)
    if trajectory.tools:
        parameters["tools"] = [*_tools(trajectory)]
    return items, parameters


def _tools(trajectory: Trajectory) -> list[JsonObject]:
    """The tools; `strict` must be there, though it may be null."""
    return [{"strict": None, **write_tool(tool)} for tool in trajectory.tools]


def _output(trajectory: Trajectory) -> list[JsonObject]:
    tokens = {step.message: step.tokens for step in trajectory.steps if isinstance(step, ModelStep)}
    items: list[JsonObject] = []
    for place, message in enumerate(trajectory.messages):
        if place >= trajectory.prompt_messages:
            items += write_message(_sayable(message), tokens.get(place), first=len(items))
    return items


def _items(message: Message) -> list[JsonObject]:
    return write_items([_sayable(message)])


def _sayable(message: Message) -> Message:
    """The message, or its mere text where a part of it has no counterpart or would not be read again."""
    try:
        read_items([*write_items([message])])
    except DialectError:
        answers = (message.tool_call_id or "") if message.role == "tool" else None
        return Message(role=message.role, content=message.text, tool_call_id=answers)
    return message


def _response(trajectory: Trajectory, output: list[JsonObject]) -> JsonObject:
    models = [step for step in trajectory.steps if isinstance(step, ModelStep)]
    response = response_of(
        f"resp_{trajectory.rollout_id.replace('/', '_')}",
        trajectory.model,
        int(trajectory.finished_at.timestamp()),
        output,
        models[-1].finish_reason if models else "stop",
        trajectory.usage,
    )
    tools: list[Any] = _tools(trajectory)
    return response | {"usage": usage_as(trajectory.usage, *USAGE), "tools": tools}


def _scored(record: Record, scoring: str) -> JsonObject:
    """NeMo Gym's rewards are numbers: one that is masked is 0, and says so."""
    reward = record.reward(scoring)
    if reward is None:
        return {}
    scored: JsonObject = {"reward": reward.reward or 0.0, "mask_sample": reward.masked}
    if reward.components:
        scored["reward_components"] = {**reward.components}
    if reward.failure is not None:
        scored |= {"failure_kind": write_kind(reward.failure), "failure_reason": reward.failure.message}
    return scored


def _held(parameters: JsonObject, output: list[JsonObject]) -> Held:
    """What a reader of the row finds in it."""
    request = read_request(parameters)
    replies = read_replies([*output], "response.output")
    return Held(
        messages=[*request.messages, *(message for message, _ in replies)],
        tools=request.tools,
        tokens=[tokens for message, tokens in replies if message.role == "assistant"],
    )


def _number(task_id: str) -> int:
    index = task_id.rpartition("/")[2]
    return int(index) if index.isdecimal() else 0
