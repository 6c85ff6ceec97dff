"""What a plan is told by its background jobs. These events are never written anywhere."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from odradek_schemas.events import BadRow
from odradek_schemas.events.base import RunEvent
from odradek_schemas.failures import Failure


class DatasetLoaded(RunEvent):
    """The run's data set is there and every row is good; `tasks` is a `Tasks`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    type: Literal["DatasetLoaded"] = "DatasetLoaded"
    tasks: Any


class DatasetRejected(RunEvent):
    """The run's data set can't be used."""

    type: Literal["DatasetRejected"] = "DatasetRejected"
    failure: Failure
    bad_rows: list[BadRow] = Field(default_factory=list)


class TasksPrepared(RunEvent):
    """More tasks of the run are ready to be admitted."""

    type: Literal["TasksPrepared"] = "TasksPrepared"
