"""Records as the audit takes them: headers read, the value not yet."""

from collections.abc import Mapping
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

    @classmethod
    def of(
        cls, place: Place, headers: Mapping[str, bytes], value: bytes, problem: str | None = None
    ) -> "LogRecord":
        """A record by its headers. One that lacks some, or whose headers are no text, has a problem."""
        try:
            scoring = headers.get("ce_scoring")
            return cls(
                place,
                headers["ce_type"].decode(),
                headers["ce_id"].decode(),
                headers.get("ce_rolloutid", b"").decode(),
                None if scoring is None else scoring.decode(),
                value,
                problem,
            )
        except (KeyError, UnicodeDecodeError) as error:
            return cls(place, "", "", "", None, value, f"not an event's headers: {error!r}")
