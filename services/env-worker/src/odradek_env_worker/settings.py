"""Settings of the env-worker."""

from pathlib import Path

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
    flights_file: Path | None = Field(
        default=None,
        description="Where the actions at work are noted, on a disk that outlives the process, so that one which ends "
        "its worker is not begun for ever. None: nowhere.",
    )
    programs: int = Field(default=8, ge=1, description="Agent programs that run at the same time.")
    gateway_url: str | None = Field(
        default=None,
        description="Where agent programs reach the model gateway, without /v1. None: none are run.",
    )
    access_secret_file: Path | None = Field(
        default=None,
        description="The secret with which the programs' tokens are signed; the gateway has it too.",
    )
    stall_seconds: float = Field(
        default=30.0, gt=0, description="An event loop that stands still for so long ends the worker."
    )
