"""Which rollouts are unfinished and what each waits for, as the journal has it (pure; no harness is run).

An entry of the journal names the requests that it caused; an answer that a later entry accepts ends the wait for it.
A new attempt ends all waits of the one before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter

from odradek_schemas.rollouts import Limits

ATTEMPT = 3
"""Where the attempt stands in an id: run/task/sample/attempt/..."""


class _Input(BaseModel):
    """What an entry accepted, as far as it ends a wait. The journal's own models would read whole conversations."""

    type: str
    call_id: str | None = None
    session_id: str | None = None
    timer: str | None = None
    limits: Limits | None = None


class _Request(BaseModel):
    id: str


class _Entry(BaseModel):
    type: Literal["JournalAppended"]
    run_id: str
    rollout_id: str
    time: datetime
    input: _Input
    requests: Sequence[_Request] = ()
    ended: str | None = None


class _Snapshot(BaseModel):
    type: Literal["RolloutSnapshot"]
    rollout_id: str
    entries: Sequence[_Entry]


class _Ended(BaseModel):
    type: Literal["RolloutEnded"]
    rollout_id: str


class _Stuck(BaseModel):
    type: Literal["HarnessStuck"]
    rollout_id: str
    time: datetime


_records: TypeAdapter[_Entry | _Snapshot | _Ended | _Stuck] = TypeAdapter(
    Annotated[_Entry | _Snapshot | _Ended | _Stuck, Field(discriminator="type")]
)


class Asked(NamedTuple):
    """Since when a request has been waited for, and about when its record was written."""

    since: datetime
    written: datetime


@dataclass(slots=True)
class Rollout:
    """An unfinished rollout, and what it waits for by the ids of its requests."""

    id: str
    run_id: str
    began: datetime
    limits: Limits
    last: str
    waits: dict[str, Asked] = field(default_factory=dict)
    stuck: bool = False

    def take(self, entry: _Entry, written: datetime) -> None:
        accepted = entry.input
        self.last = accepted.type
        if accepted.limits is not None:
            self.began, self.limits = entry.time, accepted.limits
        for done in _answered(accepted):
            self.waits.pop(done, None)
        asked = [request.id for request in entry.requests]
        if asked:
            attempt = max(map(_attempt, asked))
            waits = {**self.waits, **dict.fromkeys(asked, Asked(entry.time, written))}
            self.waits = {what: when for what, when in waits.items() if _attempt(what) == attempt}


class Unfinished:
    """The unfinished rollouts of some partitions; takes in the records of each partition's journal in order."""

    def __init__(self) -> None:
        self.rollouts: dict[str, Rollout] = {}

    def take(self, value: bytes, written: datetime) -> None:
        """Take in one record, written at this time.

        Raises:
            ValueError: it is none of the journal's.
        """
        record = _records.validate_json(value)
        match record:
            case _Entry():
                self._append(record, written)
            case _Snapshot():
                self.rollouts.pop(record.rollout_id, None)
                for entry in record.entries:
                    self._append(entry, entry.time)
            case _Ended():
                self.rollouts.pop(record.rollout_id, None)
            case _Stuck():
                if record.rollout_id in self.rollouts:
                    self.rollouts[record.rollout_id].stuck = True

    def _append(self, entry: _Entry, written: datetime) -> None:
        rollout = self.rollouts.get(entry.rollout_id)
        if rollout is None:
            rollout = Rollout(entry.rollout_id, entry.run_id, entry.time, Limits(), entry.input.type)
            self.rollouts[entry.rollout_id] = rollout
        rollout.take(entry, written)
        if entry.ended is not None:
            del self.rollouts[entry.rollout_id]


def _answered(accepted: _Input) -> Iterable[str]:
    """The requests that an input answers."""
    if accepted.call_id is not None:
        yield accepted.call_id
    for session in (accepted.session_id, accepted.timer):
        if session is not None:
            yield from (session, f"{session}/open", f"{session}/close")


def _attempt(request_id: str) -> int:
    return int(request_id.split("/")[ATTEMPT])
