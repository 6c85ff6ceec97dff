"""Records as the audit takes them: headers read, the value not yet."""

from typing import NamedTuple


class Place(NamedTuple):
    """Where a record lies, by the topic's logical name."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]@{self.offset}"


class LogRecord(NamedTuple):
    """One committed record of a rollout. `value` is its JSON, fetched from the blob store where it lay there.

    `problem` says why there is no value to be had.
    """

    place: Place
    type: str
    id: str
    rollout_id: str
    scoring: str | None
    value: bytes
    problem: str | None = None
