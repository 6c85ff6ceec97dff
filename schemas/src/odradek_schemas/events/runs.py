"""`runs` and `run-progress`: what is asked of a run, and how far it is."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from odradek_schemas.base import JsonObject, Model
from odradek_schemas.events.base import RunEvent
from odradek_schemas.failures import Failure
from odradek_schemas.messages import Sampling, Usage
from odradek_schemas.rollouts import Limits


class Dataset(Model):
    """A data set by reference: a JSONL file, one task a line.

    `uri` is `blob:<reference>` (in the blob store) or `file:///absolute/path` (readable by the task-producer).
    Of an import it only tells where the file was.
    """

    uri: str
    name: str = Field(description="What a person calls it, for error messages.")


class RunRequested(RunEvent):
    """Play `samples` rollouts of each task of `dataset`."""

    type: Literal["RunRequested"] = "RunRequested"
    environment: str
    dataset: Dataset
    model: str
    harness: str | None = Field(default=None, description="None: what the environment asks for.")
    samples: int = Field(default=1, ge=1)
    limit: int | None = Field(default=None, ge=1, description="Only the first so many tasks.")
    concurrency: int = Field(default=64, ge=1, description="Most unfinished rollouts at any time.")
    demand: int | None = Field(default=None, ge=0, description="Rollouts wanted so far; None: all.")
    seed: int = 0
    settings: JsonObject = Field(default_factory=dict, description="The environment's.")
    sampling: Sampling = Field(default_factory=Sampling)
    limits: Limits = Field(default_factory=Limits)
    deadline_seconds: float = Field(default=86_400.0, gt=0, description="The run is cancelled after this.")


class RunImported(RunEvent):
    """Rollouts that were recorded elsewhere are on their way to `trajectories`, `rollouts` of them, to be scored here.

    Nothing is played. The first of them are written together with this; an import that was cut short goes on when the
    same file (by its `digest`, BLAKE2b) is imported again under the same id.
    """

    type: Literal["RunImported"] = "RunImported"
    environment: str
    dataset: Dataset
    format: str
    digest: str
    model: str
    harness: str | None = None
    samples: int = Field(ge=1, description="Most rollouts of one task.")
    rollouts: int = Field(ge=1)
    settings: JsonObject = Field(default_factory=dict, description="The environment's.")


class RunCancelRequested(RunEvent):
    type: Literal["RunCancelRequested"] = "RunCancelRequested"
    reason: str = "asked to"


class RunDemandRaised(RunEvent):
    """A trainer wants `demand` rollouts in all; a lower number than before changes nothing."""

    type: Literal["RunDemandRaised"] = "RunDemandRaised"
    demand: int = Field(ge=0)


class RunCounts(Model):
    """Sums over finished rollouts (first scoring only). `reward_*` are over the unmasked ones."""

    finished: int = 0
    completed: int = 0
    truncated: int = 0
    failed: int = 0
    cancelled: int = 0
    masked: int = 0
    reward_sum: float = 0.0
    reward_square_sum: float = 0.0
    failures: dict[str, int] = Field(default_factory=dict)
    usage: Usage = Field(default_factory=Usage)

    @property
    def mean_reward(self) -> float | None:
        scored = self.finished - self.masked
        return self.reward_sum / scored if scored else None

    def __add__(self, other: "RunCounts") -> "RunCounts":
        kinds = self.failures.keys() | other.failures.keys()
        return RunCounts(
            finished=self.finished + other.finished,
            completed=self.completed + other.completed,
            truncated=self.truncated + other.truncated,
            failed=self.failed + other.failed,
            cancelled=self.cancelled + other.cancelled,
            masked=self.masked + other.masked,
            reward_sum=self.reward_sum + other.reward_sum,
            reward_square_sum=self.reward_square_sum + other.reward_square_sum,
            failures={k: self.failures.get(k, 0) + other.failures.get(k, 0) for k in sorted(kinds)},
            usage=self.usage + other.usage,
        )


class RunCountChanged(RunEvent):
    """From the partition that counted them to the run's own: all rollouts of the run finished in `partition`."""

    type: Literal["RunCountChanged"] = "RunCountChanged"
    partition: int
    counts: RunCounts


class RunCountReleased(RunEvent):
    """From a run's owner to `partition`: the run is over, its counts there can be forgotten."""

    type: Literal["RunCountReleased"] = "RunCountReleased"
    partition: int


class RunProgressed(RunEvent):
    type: Literal["RunProgressed"] = "RunProgressed"
    planned: int
    admitted: int
    counts: RunCounts
    started_at: datetime


class RunStatus(StrEnum):
    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"


class BadRow(Model):
    """One thing wrong with a data set: where, and what."""

    line: int
    field: str
    reason: str


class RunFinished(RunEvent):
    """The last word on a run. `failed`: it never started; `failure` and `bad_rows` say why."""

    type: Literal["RunFinished"] = "RunFinished"
    status: RunStatus
    planned: int
    admitted: int
    counts: RunCounts = Field(default_factory=RunCounts)
    failure: Failure | None = None
    bad_rows: list[BadRow] = Field(default_factory=list)
    started_at: datetime
