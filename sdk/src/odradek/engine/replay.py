"""A rollout out of its journal: run again, or, where that can't be, brought to where it can end."""

from collections.abc import Sequence
from datetime import datetime

from odradek.engine.decision import Decision
from odradek.engine.machine import RolloutMachine
from odradek.engine.record import Spent
from odradek.harness import Harness
from odradek_schemas.events import JournalAppended, ModelCallCompleted, RolloutRequested
from odradek_schemas.failures import Failure, FailureKind, Stage


class Unreplayable(Exception):
    """The journal can't be run again; `failure` says why, and is how the rollout must end."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def replay(entries: Sequence[JournalAppended], harness: Harness | Failure) -> RolloutMachine:
    """Run a rollout again against what it accepted. `entries` are all of an unfinished rollout's, in order.

    Raises:
        Unreplayable: the harness made other requests than before, or entries are missing.
    """
    machine = RolloutMachine(request_of(entries), harness)
    for sequence, entry in enumerate(entries):
        if entry.sequence != sequence:
            raise _missing(f"journal entry {sequence} is missing; the next one there is {entry.sequence}")
        _compare(entry, machine.accept(entry.input, entry.time))
    return machine


def abandoned(entries: Sequence[JournalAppended]) -> RolloutMachine:
    """The rollout as its journal tells it, without running its harness: good for ending it with a `RolloutFaulted`.

    It knows its attempt, what it cost, and whether a session must be closed.

    Raises:
        Unreplayable: the journal does not hold the rollout's beginning.
    """
    request = request_of(entries)
    machine = RolloutMachine(request, _missing("its journal was not run again").failure)
    made = [made.id for entry in entries for made in entry.requests]
    attempt = max((_attempt_of(request_id) for request_id in made), default=1)
    session = f"{request.rollout_id}/{attempt}"
    session_open = f"{session}/open" in made and f"{session}/close" not in made
    machine.resume_at(attempt, session_open=session_open, spent=_spent(entries, entries[0].time))
    return machine


def request_of(entries: Sequence[JournalAppended]) -> RolloutRequested:
    """What the rollout was asked for.

    Raises:
        Unreplayable: the first entry is not there, or is something else.
    """
    first = entries[0].input if entries else None
    if not isinstance(first, RolloutRequested):
        raise _missing("the journal does not hold the rollout's beginning")
    return first


def _compare(entry: JournalAppended, decision: Decision | None) -> None:
    where = f"input {entry.sequence} ({entry.input.type})"
    if decision is None:
        raise _differs(f"{where}: it was accepted before, and is not waited for now")
    if decision.prints != entry.requests:
        before, after = ([p.id for p in prints] for prints in (entry.requests, decision.prints))
        what = f"the content of {before} differs" if before == after else f"{before} before, {after} now"
        raise _differs(f"{where}: it made other requests than before: {what}")
    if decision.finished is not None:
        raise _differs(f"{where}: the rollout went on before, and ends now")


def _attempt_of(request_id: str) -> int:
    return int(request_id.split("/")[3])


def _spent(entries: Sequence[JournalAppended], started_at: datetime) -> Spent:
    spent = Spent(started_at)
    for entry in entries:
        if isinstance(entry.input, ModelCallCompleted):
            spent.add(entry.input)
    return spent


def _differs(message: str) -> Unreplayable:
    return Unreplayable(
        Failure(kind=FailureKind.HARNESS_NONDETERMINISTIC, stage=Stage.HARNESS, message=message)
    )


def _missing(message: str) -> Unreplayable:
    return Unreplayable(Failure(kind=FailureKind.UNREADABLE_RECORD, stage=Stage.TRANSPORT, message=message))
