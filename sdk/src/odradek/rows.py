"""Rows of a data set: NeMo Gym's format and Odradek's own, told apart row by row.

Own:      {"task": {...}, "answer": {...}, "messages"?: [...], "tools"?: [...], "sampling"?: {...}, "id"?: "..."}
NeMo Gym: {"responses_create_params": {...}, ...} with the task's fields flat, under `verifier_metadata` or under
          `task_data`. A field goes to whichever of `Task` and `Answer` declares it; others are not ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, Field, JsonValue, ValidationError

from odradek.dialects.core import DialectError
from odradek.dialects.nemo_gym import PARAMETERS, is_gym_row, read_parameters
from odradek_schemas.base import JsonObject, Model
from odradek_schemas.messages import Message, Sampling, ToolSpec

if TYPE_CHECKING:
    from odradek.environment import Environment

_M = TypeVar("_M", bound=BaseModel)

_GYM_NESTED = ("task_data", "verifier_metadata")


class RowError(ValueError):
    """A row can't be used. `field` is a dotted path, empty for the row as a whole."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class TaskRow(Model):
    """One row, split into what the agent's side may know and what is to be sealed."""

    messages: list[Message]
    tools: list[ToolSpec] = Field(
        default_factory=list, description="The row's own; empty: the environment's."
    )
    task: JsonObject
    answer: JsonObject | None = None
    sampling: Sampling = Field(default_factory=Sampling)
    id: str | None = None


class _OwnRow(Model):
    task: JsonObject
    answer: JsonObject | None = None
    messages: list[Message] = Field(default_factory=list)
    tools: list[ToolSpec] = Field(default_factory=list)
    sampling: Sampling = Field(default_factory=Sampling)
    id: str | None = None


def parse_row(environment: Environment, row: JsonObject) -> TaskRow:
    """Split a row for `environment`.

    Raises:
        RowError: it is in neither format, lacks a field, holds a wrong one, or leaves the model without a prompt.
    """
    if is_gym_row(row):
        return _parse_gym_row(environment, row)
    if "task" in row:
        return _parse_own_row(environment, row)
    raise RowError("", f"neither {PARAMETERS!r} (NeMo Gym's format) nor 'task' (Odradek's own) is there")


def _parse_own_row(environment: Environment, row: JsonObject) -> TaskRow:
    own = _validated(_OwnRow, row, "", strict=True)
    task = _validated(environment.Task, own.task, "task", strict=True)
    answer = _answer(environment, own.answer, "answer", strict=True)
    return TaskRow(
        messages=own.messages or _prompt(environment, task),
        tools=own.tools,
        task=task.model_dump(mode="json"),
        answer=answer,
        sampling=own.sampling,
        id=own.id,
    )


def _parse_gym_row(environment: Environment, row: JsonObject) -> TaskRow:
    try:
        request = read_parameters(row)
    except DialectError as error:
        raise RowError(error.field, error.reason) from error
    fields = _gym_fields(row)
    task = _validated(environment.Task, fields, "", strict=False)
    return TaskRow(
        messages=request.messages or _prompt(environment, task),
        tools=request.tools,
        task=task.model_dump(mode="json"),
        answer=_answer(environment, fields, "", strict=False),
        sampling=request.sampling,
        id=_gym_id(row),
    )


def _gym_fields(row: JsonObject) -> JsonObject:
    """The task's fields, wherever the row keeps them; the flat ones win."""
    fields: JsonObject = {}
    for name in _GYM_NESTED:
        nested = row.get(name)
        if isinstance(nested, dict):
            fields.update(nested)
    return fields | {name: value for name, value in row.items() if value is not None}


def _gym_id(row: JsonObject) -> str | None:
    found: JsonValue = row.get("uuid") if row.get("uuid") is not None else row.get("id")
    return None if found is None else str(found)


def _answer(environment: Environment, fields: JsonObject | None, at: str, strict: bool) -> JsonObject | None:
    if environment.Answer is None:
        if strict and fields is not None:
            raise RowError(at, f"environment {environment.name!r} takes no answer")
        return None
    if fields is None:
        raise RowError(at, "is missing: the verifier needs it")
    return _validated(environment.Answer, fields, at, strict).model_dump(mode="json")


def _prompt(environment: Environment, task: BaseModel) -> list[Message]:
    messages = environment.prompt(task)
    if not messages:
        raise RowError("messages", "are missing, and the environment makes no prompt from a task")
    return messages


def _validated(model: type[_M], value: JsonObject, at: str, strict: bool) -> _M:
    """`value` as a `model`; `strict` refuses fields that the model does not have."""
    try:
        return model.model_validate(value, extra="forbid" if strict else None)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        field = ".".join(map(str, (at, *problems[0]["loc"]) if at else problems[0]["loc"]))
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise RowError(field, problems[0]["msg"] + more) from error
