"""Dead letters: which records workers could not read, and which the audit can't."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.records import Place


@dataclass(slots=True)
class Letters:
    """`rejected`: what a worker put in the dead letters; `unread`: what the audit can't read, and why.

    `rollouts`: those that such a record is about.
    """

    rejected: set[Place] = field(default_factory=set)
    unread: dict[Place, str] = field(default_factory=dict)
    rollouts: set[str] = field(default_factory=set)

    def __contains__(self, place: object) -> bool:
        """Whether the record there counts as never written: its readers were told a failure instead."""
        return place in self.rejected or place in self.unread

    def unreported(self) -> Iterator[Violation]:
        for place, problem in self.unread.items():
            if place not in self.rejected:
                yield violation(
                    Invariant.READABLE,
                    "a record can't be read, and is not in the dead letters",
                    [place],
                    found=problem,
                )
