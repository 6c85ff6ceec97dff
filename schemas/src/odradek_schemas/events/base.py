"""What every event has."""

from datetime import UTC, datetime

from pydantic import Field

from odradek_schemas.base import Model


def now() -> datetime:
    return datetime.now(UTC)


class Event(Model):
    """A fact or a request, on one topic. Each subclass declares its `type` as a literal.

    `id` is unique among the events of its type and deterministic: an event that is written again has the same id.
    """

    type: str
    id: str
    run_id: str | None = None
    rollout_id: str | None = None
    time: datetime = Field(default_factory=now)

    @property
    def key(self) -> str:
        """The record's key. Rollout events go by rollout, run events by run."""
        key = self.rollout_id or self.run_id
        assert key is not None, f"{self.type} has neither a rollout nor a run to be keyed by"
        return key


class RunEvent(Event):
    """An event of a run as a whole."""

    run_id: str

    @property
    def key(self) -> str:
        return self.run_id


class RolloutEvent(Event):
    """An event of one rollout."""

    run_id: str
    rollout_id: str
