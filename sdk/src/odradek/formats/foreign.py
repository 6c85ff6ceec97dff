"""Rollouts that other programs recorded, made into trajectories: the environment reads the task, and ids are given."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from odradek.environment import Environment
from odradek.formats.records import BadRecord, Record, recorded_reward
from odradek.rows import RowError, TaskRow
from odradek_schemas import ids
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RecordCoordinates
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Message, Sampling, ToolSpec, Usage
from odradek_schemas.rollouts import Group, RolloutStatus, Step, Trajectory

UNKNOWN = "unknown"
LONG_AGO = datetime.fromtimestamp(0, UTC)
"""The time of what happened nobody knows when."""


@dataclass(frozen=True, slots=True)
class Told:
    """What another program tells of one rollout. `row`: what the task can be read from; `prompt`: messages of `messages`.

    `reward` is None where none was given, or where it is `masked`: it says nothing of the model.
    """

    row: JsonObject
    messages: list[Message]
    prompt: int
    steps: list[Step]
    tools: list[ToolSpec] = field(default_factory=list)
    sampling: Sampling = field(default_factory=Sampling)
    model: str = UNKNOWN
    harness: str | None = None
    status: RolloutStatus = RolloutStatus.COMPLETED
    truncated_by: str | None = None
    failure: Failure | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    started_at: datetime = LONG_AGO
    finished_at: datetime = LONG_AGO
    task_index: int | None = None
    sample: int | None = None
    reward: float | None = None
    masked: bool = False
    components: dict[str, float] = field(default_factory=dict)
    details: JsonObject = field(default_factory=dict)
    unscored: Failure | None = None


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of a data set by what their user asks, each with its number in it."""

    by_text: Mapping[str, tuple[int, TaskRow]]

    @classmethod
    def of(cls, environment: Environment, rows: Iterable[JsonObject]) -> "Tasks":
        """Raises RowError: a row does not fit the environment."""
        by_text: dict[str, tuple[int, TaskRow]] = {}
        for index, row in enumerate(rows):
            task = environment.split(row)
            by_text.setdefault(asked(task.messages), (index, task))
        return cls(by_text)


@dataclass(frozen=True, slots=True)
class Source:
    """Where rollouts come from. `environment`: whose they are; `tasks`: where rows do not bring them along."""

    name: str
    run_id: str
    environment: Environment | None = None
    tasks: Tasks | None = None


def asked(messages: Iterable[Message]) -> str:
    """All that the user says in a prompt: what a recorded rollout and its task have in common."""
    return "\n".join(message.text for message in messages if message.role == "user")


def record_of(told: Told, source: Source, line: int) -> Record:
    """The record of a foreign rollout.

    Raises:
        BadRecord: the environment can't read the task, or the data set has no such task.
    """
    number, row = _task(told, source, line)
    index = told.task_index if number is None else number
    sample = told.sample or 0
    at = line - 1 if index is None else index
    trajectory = Trajectory(
        run_id=source.run_id,
        rollout_id=ids.rollout_id(source.run_id, at, sample),
        group=Group(task_id=ids.task_id(source.run_id, at), size=1),
        sample=sample,
        environment=source.environment.name if source.environment else UNKNOWN,
        harness=told.harness or (source.environment.harness if source.environment else UNKNOWN),
        model=told.model,
        seed=0,
        task=row.task if row else told.row,
        settings=_settings(source.environment),
        messages=told.messages,
        prompt_messages=told.prompt,
        tools=told.tools or (row.tools if row else []),
        steps=told.steps,
        status=told.status,
        truncated_by=told.truncated_by,
        failure=told.failure,
        usage=told.usage,
        cost=told.cost,
        sampling=told.sampling,
        token_coverage=_token_coverage(told.steps),
        started_at=told.started_at,
        finished_at=told.finished_at,
    )
    rewards = []
    if told.reward is not None or told.masked:
        place = RecordCoordinates(topic=source.name, partition=0, offset=line)
        rewards.append(
            recorded_reward(
                trajectory,
                place,
                None if told.masked else told.reward,
                components=told.components,
                details=_details(told, source),
                failure=told.unscored,
            )
        )
    return Record(
        trajectory, tuple(rewards), row.answer if row else None, index is not None, told.sample is not None
    )


def _settings(environment: Environment | None) -> JsonObject:
    """What the environment was told to be, its defaults apart."""
    return environment.settings.model_dump(mode="json", exclude_unset=True) if environment else {}


def _task(told: Told, source: Source, line: int) -> tuple[int | None, TaskRow | None]:
    """The task, and its number in the data set that was given beside the file, if one was."""
    if source.tasks is not None:
        found = source.tasks.by_text.get(asked(told.messages[: told.prompt]))
        if found is None:
            raise BadRecord(line, "", "what its user asks is asked by no task of the data set that was given")
        return found
    if source.environment is None:
        return None, None
    try:
        return None, source.environment.split(told.row)
    except RowError as error:
        raise BadRecord(
            line,
            error.field,
            f"{error.reason} (tasks that lie in a file of their own are given beside this one)",
        ) from error


def _details(told: Told, source: Source) -> JsonObject:
    """What the verifier said beside the reward: neither the task's fields nor the answer's."""
    environment = source.environment
    if environment is None:
        return {}
    known = set(environment.Task.model_fields)
    if environment.Answer is not None:
        known |= set(environment.Answer.model_fields)
    return {name: value for name, value in told.details.items() if name not in known}


def _token_coverage(steps: Iterable[Step]) -> float | None:
    """The share of model calls whose tokens are complete; None where none has any."""
    records = [step.tokens for step in steps if step.kind == "model"]
    if not any(records):
        return None
    return sum(record is not None and record.complete for record in records) / len(records)
