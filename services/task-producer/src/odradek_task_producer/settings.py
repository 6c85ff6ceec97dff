"""Settings of the task-producer. Each is an environment variable with the prefix `ODRADEK_`."""

from pydantic import Field

from odradek_runtime.settings import WorkerSettings


class ProducerSettings(WorkerSettings):
    """What every worker needs, and how runs are planned, admitted, ended and purged."""

    admission_chunk: int = Field(
        default=256, ge=1, description="Most rollouts that one partition admits in one transaction."
    )
    progress_seconds: float = Field(default=0.5, gt=0, description="Least time between two RunProgressed.")
    cancel_grace_seconds: float = Field(
        default=600.0, gt=0, description="How long a cancelled run waits for its unfinished rollouts."
    )
    dataset_timeout_seconds: float = Field(
        default=900.0, gt=0, description="Deadline of fetching and checking a data set."
    )
    prepare_timeout_seconds: float = Field(
        default=120.0, gt=0, description="Deadline of preparing one block of tasks."
    )
    bad_rows_reported: int = Field(default=50, ge=1, description="Most bad rows that are named one by one.")
    purge_interval_seconds: float = Field(default=300.0, gt=0, description="Time between two purges.")
    purge_timeout_seconds: float = Field(default=60.0, gt=0, description="Deadline of one purge.")
    keep_days: float = Field(
        default=7.0, ge=0, description="How long records that every worker has read are kept for people."
    )
