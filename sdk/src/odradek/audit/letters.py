"""Dead letters: which records workers could not read, and which the audit can't."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from odradek.audit.facts import Placed, Rollout
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.records import LogRecord, Place

_Fact = TypeVar("_Fact", bound=Placed)


@dataclass(slots=True)
class Letters:
    """`rejected`: what a worker put in the dead letters; `unread`: what the audit can't read, and why.

    `rollouts`: those that such a record is about. `ids`: how many such records have this id.
    """

    rejected: set[Place] = field(default_factory=set)
    unread: dict[Place, str] = field(default_factory=dict)
    rollouts: set[str] = field(default_factory=set)
    ids: Counter[str] = field(default_factory=Counter)

    def reject(self, place: Place, rollout_id: str, record_id: str) -> None:
        """A worker put the record at `place` in the dead letters."""
        self._note(place, rollout_id, record_id)
        self.rejected.add(place)

    def fail(self, record: LogRecord, problem: str) -> None:
        """The audit can't read a record."""
        self._note(record.place, record.rollout_id, record.id)
        self.unread[record.place] = problem

    def _note(self, place: Place, rollout_id: str, record_id: str) -> None:
        if place not in self:
            self.rollouts.add(rollout_id)
            self.ids[record_id] += 1

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

    def without(self, rollout: Rollout) -> Rollout:
        """The rollout without the records that count as never written."""
        if rollout.id not in self.rollouts:
            return rollout
        return replace(
            rollout,
            tasks=self._read(rollout.tasks),
            endings=self._read(rollout.endings),
            scores=self._read(rollout.scores),
            requests=self._read_all(rollout.requests),
            results=self._read_all(rollout.results),
        )

    def _read(self, facts: list[_Fact]) -> list[_Fact]:
        return [fact for fact in facts if fact.place not in self]

    def _read_all(self, facts: dict[str, list[_Fact]]) -> dict[str, list[_Fact]]:
        return {key: left for key, every in facts.items() if (left := self._read(every))}
