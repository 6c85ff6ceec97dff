"""What is known about a local stack: a JSON file in its data directory, and the lock of its supervisor."""

import fcntl
import os
import signal
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ValidationError

from odradek.models import ModelSettings

ASKED = signal.SIGHUP
"""Tells the supervisor that something was asked for."""

SCALE = "scale"
"""The folder of the data directory in which pools' sizes are asked for, a file each."""


class StackError(RuntimeError):
    """The local stack could not be started or stopped, or is not well; the message says why and what to do."""


class Status(StrEnum):
    """Of the stack as a whole."""

    STARTING = "starting"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    FAILED = "failed"
    STOPPING = "stopping"
    STOPPED = "stopped"


class PartStatus(StrEnum):
    """Of one part. A part that `failed` is not restarted any more."""

    STARTING = "starting"
    HEALTHY = "healthy"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    FAILED = "failed"


class PartState(BaseModel):
    """One process of the stack; `pool`: the service of which it is a replica, if it is one."""

    name: str
    status: PartStatus
    pid: int
    port: int
    log: Path
    restarts: int = 0
    pool: str | None = None


class StackState(BaseModel):
    """The whole stack, with what a client needs to use it; `scale`: how many replicas each pool is to have,
    `scale_errors`: why one has not as many as was
    asked for, `scale_looks`: how often it was looked what is asked for."""

    status: Status
    supervisor_pid: int
    started_at: datetime
    bootstrap: str
    topic_prefix: str
    partitions: int
    blob_store: str
    gateway_url: str
    models: dict[str, ModelSettings]
    log: Path
    parts: list[PartState] = []
    scale: dict[str, int] = {}
    scale_errors: dict[str, str] = {}
    scale_looks: int = 0
    notes: list[str] = []
    error: str | None = None


def read_state(folder: Path) -> StackState | None:
    """The state last written in this data directory, or None when there was never a stack.

    Raises StackError when it can't be read.
    """
    path = folder / "state.json"
    try:
        return StackState.model_validate_json(path.read_bytes()) if path.exists() else None
    except (OSError, ValidationError) as error:
        raise StackError(f"{path} can't be read; remove it, `odradek up` writes it anew") from error


def supervisor_log(folder: Path) -> Path:
    """Where the supervisor of this data directory writes what it does."""
    return folder / "logs" / "supervisor.log"


def write_state(folder: Path, state: StackState) -> None:
    """Replaces the state; a reader sees the old one or the new one, whole."""
    partial = folder / "state.json.partial"
    partial.write_text(state.model_dump_json(indent=2) + "\n")
    partial.replace(folder / "state.json")


def forget_state(folder: Path) -> None:
    """Removes what an earlier stack wrote, and what was asked of it; only its next supervisor may, or whoever starts
    that."""
    (folder / "state.json").unlink(missing_ok=True)
    for asked in _asked(folder):
        asked.unlink(missing_ok=True)


def ask_for(folder: Path, pool: str, replicas: int) -> None:
    """Leaves word of how many replicas a pool is to have. Whoever may write in the data directory may ask."""
    path = folder / SCALE / pool
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(f"{replicas}\n")
    partial.replace(path)


def asked_for(folder: Path) -> dict[str, int]:
    """How many replicas of which pools were asked for."""
    return {path.name: int(path.read_text()) for path in _asked(folder)}


def _asked(folder: Path) -> list[Path]:
    return [path for path in (folder / SCALE).glob("*") if not path.name.endswith(".partial")]


class SupervisorLock:
    """Held by the one supervisor of a data directory for as long as it lives; the kernel gives it back.

    `up` takes it and hands the open file on to the supervisor that it starts, so that no moment is without an owner.
    """

    def __init__(self, folder: Path):
        self.path = folder / "supervisor.lock"

    def take(self) -> int | None:
        """The locked file's descriptor, or None when a supervisor has it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.truncate(descriptor, 0)
        return descriptor

    @property
    def held(self) -> bool:
        """Whether a supervisor lives."""
        if not self.path.exists():
            return False
        with self.path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    @property
    def pid(self) -> int:
        """The supervisor's process id; raises StackError while it is only being started."""
        noted = self.path.read_text()
        if not noted:
            raise StackError("The local stack is just being started: try again in a second.")
        return int(noted)
