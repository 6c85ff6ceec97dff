"""NeMo Gym's recorded rollouts.

A row holds the task's fields, `responses_create_params`, `response` (a Responses object) and the verifier's result.
Recorded rows are often not valid requests as they stand, so what is not needed here is not looked at.
"""

from pydantic import Field, JsonValue

from odradek.dialects.core import ChatRequest, DialectError
from odradek.dialects.responses import read_output, read_request
from odradek_schemas.base import JsonObject, Model
from odradek_schemas.messages import Message, Usage

PARAMETERS = "responses_create_params"


class GymRollout(Model):
    """One recorded rollout. `messages` is what followed the prompt; `reward` is None where none was given."""

    request: ChatRequest
    messages: list[Message]
    reward: float | None = None
    components: dict[str, float] = Field(default_factory=dict)
    masked: bool = False
    failure_kind: str | None = None
    failure_reason: str | None = None
    model: str | None = None
    usage: Usage = Field(default_factory=Usage)

    @property
    def replies(self) -> list[Message]:
        """The model's messages."""
        return [message for message in self.messages if message.role == "assistant"]

    @property
    def observations(self) -> list[str]:
        """What the tools answered."""
        return [message.text for message in self.messages if message.role == "tool"]


def is_gym_row(row: JsonObject) -> bool:
    """Whether a row of a data set is in NeMo Gym's format."""
    return PARAMETERS in row


def read_parameters(row: JsonObject) -> ChatRequest:
    """The request of a task or rollout row.

    Raises:
        DialectError: the row has no parameters, or they can't be read; names the field.
    """
    parameters = row.get(PARAMETERS)
    if not isinstance(parameters, dict):
        raise DialectError(PARAMETERS, "must be an object")
    try:
        return read_request(parameters)
    except DialectError as error:
        raise DialectError(f"{PARAMETERS}.{error.field}", error.reason) from error


def read_rollout(row: JsonObject) -> GymRollout:
    """Read a recorded rollout.

    Raises:
        DialectError: it has no request, or its response has no output that can be read.
    """
    response = row.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(response, dict) or not isinstance(output, list):
        raise DialectError("response.output", "must be a list of items")
    reward, components = row.get("reward"), row.get("reward_components")
    return GymRollout(
        request=read_parameters(row),
        messages=read_output(output),
        reward=float(reward) if isinstance(reward, int | float) else None,
        components=_numbers(components),
        masked=bool(row.get("mask_sample")),
        failure_kind=_text(row.get("failure_kind")),
        failure_reason=_text(row.get("failure_reason")),
        model=_text(response.get("model")),
        usage=read_usage(response.get("usage")),
    )


def read_usage(usage: JsonValue) -> Usage:
    """Token counts in the Responses API's form or in that of chat completions; what is missing counts as 0."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        prompt_tokens=_count(usage, "input_tokens", "prompt_tokens"),
        completion_tokens=_count(usage, "output_tokens", "completion_tokens"),
        cached_tokens=_count(_details(usage, "input", "prompt"), "cached_tokens"),
        reasoning_tokens=_count(_details(usage, "output", "completion"), "reasoning_tokens"),
    )


def _details(usage: JsonObject, *sides: str) -> JsonObject:
    found = (usage.get(f"{side}_tokens_details") for side in sides)
    return next((details for details in found if isinstance(details, dict)), {})


def _count(counts: JsonObject, *names: str) -> int:
    return next((value for name in names if isinstance(value := counts.get(name), int)), 0)


def _numbers(values: JsonValue) -> dict[str, float]:
    found = values.items() if isinstance(values, dict) else ()
    return {name: float(value) for name, value in found if isinstance(value, int | float)}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None
