"""`ledger`: the task-producer's changelog. Each record is the newest state of the thing its key names."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from odradek_schemas.events.base import RunEvent
from odradek_schemas.events.runs import RunCounts, RunRequested
from odradek_schemas.failures import Failure


class RunPlanRecorded(RunEvent):
    """How far the plan of a run is carried out: rollouts `0..admitted` of `planned` are out."""

    type: Literal["RunPlanRecorded"] = "RunPlanRecorded"
    request: RunRequested
    planned: int | None = None
    admitted: int = 0
    demand: int | None = None
    cancelled: str | None = None
    failure: Failure | None = Field(default=None, description="Why it was cancelled, if nobody asked for it.")
    finished: bool = False
    started_at: datetime

    @property
    def key(self) -> str:
        return f"{self.run_id}/plan"


class RunCountRecorded(RunEvent):
    """The rollouts of a run that finished in this partition."""

    type: Literal["RunCountRecorded"] = "RunCountRecorded"
    counts: RunCounts

    @property
    def key(self) -> str:
        return f"{self.run_id}/count"


class RunSumRecorded(RunEvent):
    """What the run's owner last heard from partition `partition`."""

    type: Literal["RunSumRecorded"] = "RunSumRecorded"
    partition: int
    counts: RunCounts

    @property
    def key(self) -> str:
        return f"{self.run_id}/sum/{self.partition}"
