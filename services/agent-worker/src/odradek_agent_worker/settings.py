"""Settings of the agent-worker. Each is an environment variable with the prefix `ODRADEK_`."""

from pydantic import Field

from odradek_runtime.settings import WorkerSettings


class AgentSettings(WorkerSettings):
    """What every worker needs, and the bounds of the rollouts that this one plays."""

    max_rollouts_in_flight: int = Field(
        default=4096, ge=1, description="Unfinished rollouts of one worker; at the bound it reads no tasks."
    )
    snapshot_after_records: int = Field(
        default=50_000,
        ge=1,
        description="Journal offsets after which an unfinished rollout is carried forward.",
    )
    harness_stuck_seconds: float = Field(
        default=4.0,
        gt=0,
        description="A harness that computes for so long without an await is stuck. Below the session timeout, so that "
        "no second worker takes the rollout over before it is noted.",
    )
    restore_settle_seconds: float = Field(
        default=5.0,
        ge=0,
        description="After a restore no timer fires for so long: answers that wait in the log count first.",
    )
