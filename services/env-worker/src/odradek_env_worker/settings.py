"""Settings of the env-worker."""

from pydantic import Field

from odradek_runtime.settings import WorkerSettings


class EnvSettings(WorkerSettings):
    """What the env-worker needs beside what every worker needs."""

    tool_threads: int = Field(
        default=64, ge=1, description="Plain tools (not `async`) that run at the same time."
    )
    lost_threads: int = Field(
        default=16,
        ge=1,
        description="When so many threads are stuck past their deadline, the worker ends itself.",
    )
    stall_seconds: float = Field(
        default=30.0, gt=0, description="An event loop that stands still for so long ends the worker."
    )
