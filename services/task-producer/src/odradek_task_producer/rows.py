"""From a row of a data set to the rollouts of its task."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from pydantic_core import from_json

from odradek.environment import Environment
from odradek.rows import RowError, TaskRow
from odradek_schemas import ids
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RolloutRequested, RunRequested
from odradek_schemas.messages import Message, Sampling, ToolSpec
from odradek_schemas.rollouts import Group

Seal = Callable[[JsonObject], str]


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """All that the rollouts of one task have in common; the answer is sealed once for all of them."""

    index: int
    group: Group
    harness: str
    session: bool
    messages: list[Message]
    tools: list[ToolSpec]
    task: JsonObject
    sealed_answer: str | None
    sampling: Sampling


def read_row(environment: Environment, line: bytes) -> TaskRow:
    """Read one line of a data set.

    Raises:
        RowError: it is not a JSON object, or not a row for this environment.
    """
    try:
        row = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        raise RowError("", f"is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise RowError("", f"must be a JSON object, is {type(row).__name__}")
    return environment.split(row)


def prepare(
    environment: Environment, request: RunRequested, seal: Seal, index: int, line: bytes
) -> PreparedTask:
    """Read the row of task `index` and seal its answer. What the run asks of sampling wins over the row.

    Raises:
        RowError: the row does not fit.
    """
    row = read_row(environment, line)
    return PreparedTask(
        index=index,
        group=Group(task_id=ids.task_id(request.run_id, index), size=request.samples),
        harness=request.harness or environment.harness,
        session=environment.has_session,
        messages=row.messages,
        tools=row.tools,
        task=row.task,
        sealed_answer=None if row.answer is None else seal(row.answer),
        sampling=merge_sampling(row.sampling, request.sampling),
    )


def merge_sampling(row: Sampling, run: Sampling) -> Sampling:
    """The row's sampling, with all that the run sets."""
    asked = {name: value for name, value in run if value is not None}
    return row.model_copy(update=asked) if asked else row


def seed_of(run_seed: int, task_index: int, sample: int) -> int:
    """The seed of one rollout: always the same, 31 bits (what every model server takes)."""
    digest = blake2b(f"{run_seed}/{task_index}/{sample}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1


def rollout_of(task: PreparedTask, request: RunRequested, sample: int, time: datetime) -> RolloutRequested:
    """The request for one rollout of a prepared task."""
    rollout_id = ids.rollout_id(request.run_id, task.index, sample)
    return RolloutRequested(
        id=rollout_id,
        run_id=request.run_id,
        rollout_id=rollout_id,
        time=time,
        group=task.group,
        sample=sample,
        environment=request.environment,
        harness=task.harness,
        model=request.model,
        messages=task.messages,
        tools=task.tools,
        session=task.session,
        task=task.task,
        settings=request.settings,
        sealed_answer=task.sealed_answer,
        seed=seed_of(request.seed, task.index, sample),
        sampling=task.sampling,
        limits=request.limits,
    )
