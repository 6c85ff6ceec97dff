"""A program to run once, the limits that it runs under, and what came of it: the seam between verifiers and sandboxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

TEST_SECONDS = 6.0
"""Most time for one test; LiveCodeBench's own."""


class RunnerUnavailable(RuntimeError):
    """Programs can't be run here, or not in the way that was asked for; says what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use. Each of its processes has the memory and the output for itself."""

    seconds: float = TEST_SECONDS
    """Wall clock."""
    memory_mib: int = 2048
    """Address space."""
    output_bytes: int = 16 << 20
    """The longest file that may be written, standard output and standard error included."""
    processes: int = 32
    """Processes and threads together."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command. `python3` as its first word is the runner's Python; a word that names one of `files` becomes its path."""

    command: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    """By plain name; the program can read them and not change them."""
    stdin: bytes = b""


class Ended(StrEnum):
    """How a program's run came to an end."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    OUT_OF_TIME = "out_of_time"
    OUT_OF_OUTPUT = "out_of_output"


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is over: nothing that it started still runs."""

    ended: Ended
    code: int
    """The exit status, or the signal's number."""
    stdout: bytes
    stderr: bytes
    seconds: float


class Runner(Protocol):
    """Runs what nobody trusts."""

    @property
    def name(self) -> str:
        """How it keeps programs apart from the rest, for the record."""

    def run(self, job: Job, limits: Limits) -> Finished:
        """Run one job in a place of its own, without a network, and leave nothing behind.

        Takes little longer than `limits.seconds`, whatever the program does.

        Raises:
            RunnerUnavailable: the job could not be started, or would not end: no fault of the program's.
        """
