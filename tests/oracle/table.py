"""What becomes of each recording under our verifiers, as the table of `docs/environments.md`."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from math import isclose
from pathlib import Path

from odradek.plugins import environment_names, load_environment
from tests.oracle import recordings
from tests.oracle.cases import CASES, Case

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "environments.md"
BEGIN, END = "<!-- oracle: begin (make oracle) -->", "<!-- oracle: end -->"
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
            return self.name, rows, "", "", f"needs {self.case.needs}" if self.case.needs else _NOT_THERE
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
        for row in self.differing:
            yield f"row {row}: {self.case.differing.get(row, 'unexplained')}"


def lines() -> list[Line]:
    """One line for each environment that something is recorded of."""
    return [_line(name) for name in recordings.names()]


def _line(name: str) -> Line:
    case, rows = CASES.get(name, Case()), recordings.read(name)
    recorded = [row.rollout.reward for row in rows]
    if name not in environment_names() or (case.needs and find_spec(case.needs) is None):
        return Line(name, recorded, None, case)
    environment = load_environment(name, case.settings)
    return Line(name, recorded, [case.replay(environment, row) for row in rows], case)


def rendered(document: str, found: Iterable[Line]) -> str:
    """The document with the table between its marks; lines whose need is not met stay as they were.

    Raises:
        ValueError: it has no marks.
    """
    before, begin, rest = document.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT} lacks the lines {BEGIN!r} and {END!r}")
    heads = ("| environment | rows | equal | different | why |", "|---|---|---|---|---|")
    rows = [_kept(line, old) or f"| {' | '.join(line.cells)} |" for line in found]
    return "\n".join([f"{before}{begin}", *heads, *rows, f"{end}{after}"])


def _kept(line: Line, table: str) -> str | None:
    """The line of the table as it stands, where this machine can't tell what it should be."""
    if line.ours is not None or line.case.needs is None:
        return None
    return next((old for old in table.splitlines() if old.startswith(f"| {line.name} |")), None)


def _equal(recorded: float | None, ours: float | None) -> bool:
    if recorded is None or ours is None:
        return recorded is ours
    return isclose(recorded, ours, abs_tol=1e-9)
