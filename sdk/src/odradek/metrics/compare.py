"""Two scorings of the same tasks against each other, paired by task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from odradek.metrics.at_k import passed
from odradek.metrics.figures import CONFIDENCE, Figure, estimate, filled
from odradek.metrics.paired import bootstrap, mcnemar, newcombe
from odradek.metrics.plan import Missing, Scores


class Test(StrEnum):
    """How likely the difference is by chance.

    `mcnemar`: exact, where every task has one sample on each side and all scores are 0 or 1. `bootstrap`: else.
    """

    __test__ = False

    MCNEMAR = "mcnemar"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True, slots=True)
class Pair:
    """One task on both sides: the mean of its scores, and the share of its samples that pass."""

    task: str
    a: float
    b: float
    passed_a: float
    passed_b: float

    @property
    def difference(self) -> float:
        return self.b - self.a

    @property
    def gained(self) -> bool:
        """Whether half of the samples or more pass in `b`, and in `a` did not."""
        return self.passed_a < 0.5 <= self.passed_b

    @property
    def lost(self) -> bool:
        """The other way round."""
        return self.passed_b < 0.5 <= self.passed_a


@dataclass(frozen=True, slots=True)
class Comparison:
    """`b` against `a`, over the tasks that have a value on both sides, each with the same weight.

    `a` and `b` are means over tasks, which differ from the means over rollouts where tasks have unequal counts.
    `difference` is b - a; its interval and `p_value` are None where fewer than two tasks are paired.
    """

    a: Figure
    b: Figure
    missing: Missing
    threshold: float
    pairs: tuple[Pair, ...]
    test: Test | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None

    @property
    def planned(self) -> int:
        return self.a.planned

    @property
    def coverage(self) -> float:
        """The share of the common planned tasks that have scores of their own on both sides."""
        return self.a.scored / self.planned if self.planned else 0.0

    @property
    def gained(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.gained]

    @property
    def lost(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.lost]


def compare(
    a: Scores,
    b: Scores,
    missing: Missing = Missing.EXCLUDE,
    threshold: float = 1.0,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare two tables that name tasks alike. Tasks that only one has planned are left out.

    Source: Miller, "Adding Error Bars to Evals" (2024), sec. 4.2, on why to pair. The interval of the difference is
    Newcombe's where the test is McNemar's, else the bootstrap's.
    """
    common = [task for task in a if task in b]
    whole = sum(_has_score(a[task]) and _has_score(b[task]) for task in common)
    pairs = _pairs({task: a[task] for task in common}, b, missing, threshold)
    figures = [
        estimate([[value] for value in values], len(common), whole, missing, confidence)
        for values in ([pair.a for pair in pairs], [pair.b for pair in pairs])
    ]
    bare = Comparison(figures[0], figures[1], missing, threshold, tuple(pairs))
    if not pairs:
        return bare
    differences = [pair.difference for pair in pairs]
    test, found = _tested(pairs, _is_binary(common, a, b, missing), seed, confidence)
    return Comparison(*(bare.a, bare.b, missing, threshold, bare.pairs, test, fmean(differences)), *found)


def _pairs(a: Scores, b: Scores, missing: Missing, threshold: float) -> list[Pair]:
    passed_a, passed_b = passed(a, threshold), passed({task: b[task] for task in a}, threshold)
    tables: Sequence[Mapping[str, Sequence[float | None]]] = (a, b, passed_a, passed_b)
    pairs = []
    for task in a:
        rows = [filled(table[task], missing) for table in tables]
        if all(rows):
            pairs.append(Pair(task, *map(fmean, rows)))
    return pairs


def _tested(
    pairs: Sequence[Pair], binary: bool, seed: int, confidence: float
) -> tuple[Test | None, tuple[float | None, float | None, float | None]]:
    """The test, and the interval's ends and the p-value that it gives."""
    if len(pairs) < 2:
        return None, (None, None, None)
    if not binary:
        return Test.BOOTSTRAP, bootstrap([pair.difference for pair in pairs], seed, confidence=confidence)
    cells = [(pair.a > 0.5, pair.b > 0.5) for pair in pairs]
    both, lost = cells.count((True, True)), cells.count((True, False))
    gained, neither = cells.count((False, True)), cells.count((False, False))
    return Test.MCNEMAR, (*newcombe(both, gained, lost, neither, confidence), mcnemar(gained, lost))


def _is_binary(tasks: Sequence[str], a: Scores, b: Scores, missing: Missing) -> bool:
    rows = [filled(table[task], missing) for task in tasks for table in (a, b)]
    return all(len(row) <= 1 and all(score in (0.0, 1.0) for score in row) for row in rows)


def _has_score(row: Sequence[float | None]) -> bool:
    return any(score is not None for score in row)
