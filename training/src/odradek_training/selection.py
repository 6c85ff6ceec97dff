"""Which rewards a stream is about."""

from typing import Self

from pydantic import Field, model_validator

from odradek_runtime.partitioning import partition_of
from odradek_schemas.base import Model
from odradek_schemas.codec import Envelope
from odradek_schemas.events import RewardAssigned, RunImported, RunRequested
from odradek_schemas.events.results import PRIMARY_SCORING


class Selection(Model):
    """Some runs by name, or all runs of an environment or a model; of their tasks, those of one rank.

    Tasks are dealt among `ranks` by their id alone (murmur2), so ranks need not know of each other.
    """

    runs: tuple[str, ...] = ()
    environment: str | None = None
    model: str | None = None
    scoring: str = PRIMARY_SCORING
    rank: int = Field(default=0, ge=0)
    ranks: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.rank >= self.ranks:
            raise ValueError(f"rank {self.rank} of {self.ranks}: ranks are counted from 0")
        if not self.runs and self.environment is None and self.model is None:
            raise ValueError("name what to read: run, runs, environment or model")
        return self

    def owns(self, task_id: str) -> bool:
        """Whether a task is this rank's."""
        return self.ranks == 1 or partition_of(task_id, self.ranks) == self.rank

    def may_want(self, envelope: Envelope) -> bool:
        """Whether a record of `rewards` may be wanted, by its headers alone."""
        return (
            envelope.type == RewardAssigned.__name__
            and envelope.scoring == self.scoring
            and envelope.run_id is not None
            and (not self.runs or envelope.run_id in self.runs)
            and envelope.rollout_id is not None
            and self.owns(task_of(envelope.rollout_id))
        )

    def wants_run(self, run: RunRequested | RunImported) -> bool:
        """Whether a run is one of those that the stream reads."""
        return (
            (not self.runs or run.run_id in self.runs)
            and self.environment in (None, run.environment)
            and self.model in (None, run.model)
        )


def task_of(rollout_id: str) -> str:
    """The task that a rollout is a sample of."""
    return rollout_id.rpartition("/")[0]
