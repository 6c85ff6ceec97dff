"""Odradek's own format: `{"trajectory": {...}, "rewards": [...], "answer"?: {...}}`, with all that the log has."""

from pydantic import Field, ValidationError

from odradek.formats.records import BadRecord, Record
from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events import RewardAssigned
from odradek_schemas.rollouts import Trajectory


class OwnRecord(Model):
    """One line. Fields that a newer Odradek wrote are read past."""

    trajectory: Trajectory
    rewards: list[RewardAssigned] = Field(default_factory=list)
    answer: JsonObject | None = None


def write(record: Record) -> bytes:
    """A record as JSON."""
    own = OwnRecord(trajectory=record.trajectory, rewards=list(record.rewards), answer=record.answer)
    return own.__pydantic_serializer__.to_json(own, exclude_none=True)


def read(row: JsonObject, line: int) -> Record:
    """Read a line's object.

    Raises:
        BadRecord: it does not fit; names the first field that is wrong.
    """
    try:
        own = OwnRecord.model_validate(row, extra="ignore")
    except ValidationError as error:
        raise bad(line, error) from error
    return Record(own.trajectory, tuple(own.rewards), own.answer)


def bad(line: int, error: ValidationError, at: str = "") -> BadRecord:
    """What a model says is wrong with a line, as the line's error. `at`: where the model's value lies in it."""
    problems = error.errors(include_url=False, include_input=False)
    field = ".".join(map(str, (at, *problems[0]["loc"]) if at else problems[0]["loc"]))
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return BadRecord(line, field, problems[0]["msg"] + more)
