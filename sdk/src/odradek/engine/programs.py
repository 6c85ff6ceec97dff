"""A program that plays an attempt: what is heard of it while it runs, and what its end means."""

from dataclasses import dataclass
from datetime import datetime

from odradek_schemas.events import ProgramFinished
from odradek_schemas.failures import Failure, FailureKind, Stage

MOST_FAILURES = 5
"""Failed model calls in a row after which a program gets no more answers: the gateway tried each of them for long."""

PROGRAM_GRACE_SECONDS = 15.0
"""How much longer than its time a program's end is awaited: to end all its processes, and to read what it left."""


@dataclass(slots=True)
class Running:
    """A program under way. `open`: its calls are answered; `failure`: of its last call, None where that was answered."""

    program_id: str
    name: str
    expires: datetime
    open: bool = True
    failures: int = 0
    failure: Failure | None = None

    def made(self, call_id: str) -> bool:
        """Whether a call is this program's."""
        return call_id.startswith(f"{self.program_id}/")

    def answered(self) -> None:
        self.failures, self.failure = 0, None

    def failed(self, failure: Failure) -> None:
        self.failures, self.failure = self.failures + 1, failure

    @property
    def hopeless(self) -> bool:
        return self.failures >= MOST_FAILURES


@dataclass(frozen=True, slots=True)
class Truncated:
    """The attempt was cut short, by what."""

    by: str


def judged(running: Running, event: ProgramFinished, bound: str | None) -> Failure | Truncated | None:
    """What a program's end means for its attempt; None: it did its work.

    A program may hide that its last call failed, and end with exit code 0: what the model side says counts.
    """
    failure = running.failure
    well = event.failed is None and not event.overdue
    if well and failure is None:
        return None
    if bound is not None:
        return Truncated(bound)
    if failure is not None:
        overflow = failure.kind is FailureKind.CONTEXT_OVERFLOW
        return Truncated(failure.kind.value) if overflow else failure
    if event.overdue:
        return Truncated("program_seconds")
    message = f"program {running.name!r}: {event.failed}"
    return Failure(kind=FailureKind.PROGRAM_ERROR, stage=Stage.HARNESS, message=message)
