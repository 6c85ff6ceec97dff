"""What an audit came to, for people and programs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from odradek.audit.findings import Invariant, Violation

MOST_KEPT = 100
"""Violations of one invariant that are kept; the others are counted."""


class Verdict(StrEnum):
    """`incomplete`: nothing is wrong so far, and the run has not ended."""

    CLEAN = "clean"
    REFUTED = "refuted"
    INCOMPLETE = "incomplete"


@dataclass
class Findings:
    """What was checked, how often, and what was found wrong."""

    checked: Counter[Invariant] = field(default_factory=Counter)
    counts: Counter[Invariant] = field(default_factory=Counter)
    kept: list[Violation] = field(default_factory=list)

    def add(self, violations: Iterable[Violation]) -> None:
        for found in violations:
            self.counts[found.invariant] += 1
            if self.counts[found.invariant] <= MOST_KEPT:
                self.kept.append(found)


@dataclass(frozen=True)
class AuditReport:
    """The outcome of one run's audit.

    `status` is the run's: `running`, or how it ended. `notes` are worth knowing and no violations. `purged`: topics
    whose records of this run were deleted after `days`, so that only what is kept long could be checked.
    """

    run_id: str
    status: str
    planned: int | None
    admitted: int
    rollouts: int
    rewards: int
    records: int
    findings: Findings
    notes: tuple[str, ...] = ()
    purged: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def violations(self) -> list[Violation]:
        """Those that were kept, at most `MOST_KEPT` of each invariant."""
        return self.findings.kept

    @property
    def refuted(self) -> bool:
        return bool(self.findings.counts)

    @property
    def verdict(self) -> Verdict:
        if self.refuted:
            return Verdict.REFUTED
        return Verdict.INCOMPLETE if self.status == "running" else Verdict.CLEAN

    def __str__(self) -> str:
        """The verdict and the violations, for an assertion's message."""
        head = f"audit of {self.run_id}: {self.verdict} ({self.status}, {self.records} records)"
        return "\n  ".join([head, *map(str, self.violations)])

    def as_json(self) -> dict[str, Any]:
        """For programs: names stay."""
        return {
            "run_id": self.run_id,
            "verdict": str(self.verdict),
            "status": self.status,
            "planned": self.planned,
            "admitted": self.admitted,
            "rollouts": self.rollouts,
            "rewards": self.rewards,
            "records": self.records,
            "seconds": round(self.seconds, 3),
            "invariants": [
                {
                    "name": str(invariant),
                    "statement": invariant.statement,
                    "checked": self.findings.checked[invariant],
                    "violations": self.findings.counts[invariant],
                }
                for invariant in Invariant
            ],
            "violations": [_violation_json(found) for found in self.violations],
            "notes": list(self.notes),
            "purged": list(self.purged),
        }


def _violation_json(found: Violation) -> dict[str, Any]:
    return {
        "invariant": str(found.invariant),
        "rollout_id": found.rollout_id,
        "what": found.what,
        "records": [
            {"topic": place.topic, "partition": place.partition, "offset": place.offset}
            for place in found.places
        ],
        "expected": found.expected,
        "found": found.found,
    }
