"""How far two sets overlap: precision, recall and their harmonic mean, F1."""

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overlap:
    """Counts of what was found, what was expected, and what is in both.

    Two empty sets agree: all three figures are 1. Where one alone is empty, all are 0.
    """

    common: int
    found: int
    expected: int

    @property
    def precision(self) -> float:
        """The share of what was found that was expected, 0 to 1."""
        return self.common / self.found if self.found else float(not self.expected)

    @property
    def recall(self) -> float:
        """The share of what was expected that was found, 0 to 1."""
        return self.common / self.expected if self.expected else float(not self.found)

    @property
    def f1(self) -> float:
        """2PR / (P + R), 0 to 1; 1 when both sets are the same."""
        total = self.found + self.expected
        return 2 * self.common / total if total else 1.0


def overlap(found: Iterable[Hashable], expected: Iterable[Hashable]) -> Overlap:
    """The overlap of two sets; what is there twice counts once."""
    ours, theirs = set(found), set(expected)
    return Overlap(len(ours & theirs), len(ours), len(theirs))


def multiset_overlap(found: Iterable[Hashable], expected: Iterable[Hashable]) -> Overlap:
    """The overlap of two multisets: what is there twice counts twice."""
    ours, theirs = Counter(found), Counter(expected)
    return Overlap((ours & theirs).total(), ours.total(), theirs.total())
