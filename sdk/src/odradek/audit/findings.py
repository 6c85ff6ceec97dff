"""What an audit proves, and what refutes it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from odradek.audit.records import Place


class Invariant(StrEnum):
    """What must hold of a run. The names are stable: programs read them."""

    PLAN = "plan"
    TRAJECTORY = "trajectory"
    REWARD = "reward"
    JOURNAL = "journal"
    REQUESTS = "requests"
    CALLS = "calls"
    STEPS = "steps"
    CONTENT = "content"
    PROVENANCE = "provenance"
    MASKING = "masking"
    END = "end"
    READABLE = "readable"

    @property
    def statement(self) -> str:
        return _STATEMENTS[self]


_STATEMENTS = {
    Invariant.PLAN: "every planned rollout was asked for, once",
    Invariant.TRAJECTORY: "every rollout has exactly one trajectory",
    Invariant.REWARD: "every rollout has exactly one primary reward, and one for each other scoring at most",
    Invariant.JOURNAL: "journals have no gap and no double, and what they accepted is in the log",
    Invariant.REQUESTS: "what was asked is in the journal and in the log, once in each",
    Invariant.CALLS: "every call has one result, accepted once",
    Invariant.STEPS: "a trajectory's steps are the accepted ones, in order, each with its request",
    Invariant.CONTENT: "a trajectory says what its task, its replies and its observations say",
    Invariant.PROVENANCE: "every reward points at its trajectory and says what it says",
    Invariant.MASKING: "a reward is null exactly when it is masked, and masked when the rollout failed",
    Invariant.END: "the run ended once, and its counts are those of its rewards",
    Invariant.READABLE: "what can't be read is in the dead letters",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is not as it must be, and the records that show it."""

    invariant: Invariant
    what: str
    places: tuple[Place, ...] = ()
    rollout_id: str | None = None
    expected: str | None = None
    found: str | None = None


def violation(
    invariant: Invariant,
    what: str,
    places: Iterable[Place | None] = (),
    expected: object = None,
    found: object = None,
) -> Violation:
    """A violation of a rollout that is named later."""
    known = tuple(place for place in places if place is not None)
    return Violation(
        invariant,
        what,
        known,
        expected=None if expected is None else str(expected),
        found=None if found is None else str(found),
    )
