"""Settings of the verifier-worker."""

import os

from pydantic import Field

from odradek_runtime.settings import WorkerSettings


class VerifierSettings(WorkerSettings):
    """What the verifier-worker needs beside what every worker needs."""

    verifier_processes: int = Field(
        default=max(1, (os.cpu_count() or 2) - 1), ge=1, description="Verifications at the same time."
    )
    verifier_deadline_seconds: float = Field(
        default=10.0, gt=0, description="Most time for one trajectory; its process is killed after that."
    )
    judge_deadline_seconds: float = Field(
        default=3600.0, gt=0, description="Most time for a judge's answer, its wait among others included."
    )
    verifier_memory_mib: int = Field(
        default=4096, ge=256, description="Most address space of a verifier process."
    )
    verifier_start_seconds: float = Field(
        default=60.0, gt=0, description="Most time for a verifier process to start."
    )
