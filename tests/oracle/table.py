"""What becomes of each recording under our verifiers, as the table of `docs/environments.md`."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from odradek.plugins import environment_names, load_environment
from tests.oracle import recordings
from tests.oracle.cases import CASES, Case

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "environments.md"
BEGIN, END = "<!-- oracle: begin (make oracle) -->", "<!-- oracle: end -->"
_HEADS = ("| environment | rows | equal | different | why |", "|---|---|---|---|---|")
_NOT_THERE = "no environment of this name is installed"


@dataclass(frozen=True)
class Line:
    """One environment: rewards as recorded and as ours, in the order of the file; `ours` None where there is no environment."""

    name: str
    recorded: list[float | None]
    ours: list[float | None] | None
    case: Case

    @property
    def differing(self) -> list[int]:
        """Rows, counted from 0, whose rewards are not equal."""
        pairs = enumerate(zip(self.recorded, self.ours or [], strict=self.ours is not None))
        return [row for row, (recorded, ours) in pairs if not _equal(recorded, ours)]

    @property
    def cells(self) -> tuple[str, ...]:
        rows = str(len(self.recorded))
        if self.ours is None:
            return self.name, rows, "", "", _NOT_THERE
        differing = self.differing
        return (
            self.name,
            rows,
            str(len(self.recorded) - len(differing)),
            str(len(differing)),
            "; ".join(self._why()),
        )

    def _why(self) -> Iterable[str]:
        if self.case.note:
            yield self.case.note
        reasons: dict[str, list[str]] = {}
        for row in self.differing:
            reasons.setdefault(self.case.differing.get(row, "unexplained"), []).append(str(row))
        for reason, rows in reasons.items():
            yield f"row{'s' * (len(rows) > 1)} {', '.join(rows)}: {reason}"


def lines() -> list[Line]:
    """One line for each environment that something is recorded of and that can be replayed here."""
    return [_line(name) for name in recordings.names() if CASES.get(name, Case()).can_be_replayed]


def _line(name: str) -> Line:
    case, rows = CASES.get(name, Case()), recordings.read(name)
    recorded = [row.rollout.reward for row in rows]
    if name not in environment_names():
        return Line(name, recorded, None, case)
    environment = load_environment(name, case.settings)
    return Line(name, recorded, [case.replay(environment, row) for row in rows], case)


def rendered(document: str, found: Iterable[Line]) -> str:
    """The document with the table between its marks; lines that were not found anew stay.

    Raises:
        ValueError: it has no marks.
    """
    before, begin, rest = document.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT} lacks the lines {BEGIN!r} and {END!r}")
    rows = {row.split("|")[1].strip(): row for row in old.strip().splitlines()[len(_HEADS) :]}
    rows |= {line.name: f"| {' | '.join(line.cells)} |" for line in found}
    return "\n".join([f"{before}{begin}", *_HEADS, *(rows[name] for name in sorted(rows)), f"{end}{after}"])


def _equal(recorded: float | None, ours: float | None) -> bool:
    if recorded is None or ours is None:
        return recorded is ours
    return isclose(recorded, ours, abs_tol=1e-9)
