"""All scenarios, and their results as the table of `docs/reliability.md`.

`python -m tests.chaos.matrix` writes it anew from the committed results; with `--check` it only says whether it is
as they are.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.results import Result, read
from tests.chaos.scenario import Scenario
from tests.chaos.scenarios import broker, code, disks, effects, models, poison, processes, programs, redis
from tests.support.stack import ROOT

DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- chaos matrix: begin (make reliability) -->", "<!-- chaos matrix: end -->"

SCENARIOS: tuple[Scenario, ...] = (
    *processes.SCENARIOS,
    *broker.SCENARIOS,
    *redis.SCENARIOS,
    *programs.SCENARIOS,
    *models.SCENARIOS,
    *code.SCENARIOS,
    *effects.SCENARIOS,
    *poison.SCENARIOS,
    *disks.SCENARIOS,
)


def by_name(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)


def table(results: Sequence[Result]) -> str:
    """Markdown: a summary, then one row a scenario."""
    heads = (
        "struck",
        "when",
        "how",
        "the run's rollouts",
        "lost",
        "double",
        "answered calls made again",
        "calls in flight made again",
        "seconds to progress",
        "goal",
    )
    lines = [_summary(results), "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [f"| {' | '.join(_cells(result))} |" for result in results]
    return "\n".join(lines)


def _summary(results: Sequence[Result]) -> str:
    well = sum(result.ok for result in results)
    commits = sorted({result.commit for result in results})
    loads = [result.load for result in results] or [0.0]
    return (
        f"{len(results)} of {len(SCENARIOS)} scenarios have been played, and {well} ended as they must; seed {_all(r.seed for r in results)}, "
        f"commit {', '.join(commits)}. The machine's load meanwhile was {min(loads):.1f} to {max(loads):.1f} on 2 cores."
    )


def _cells(result: Result) -> Iterable[str]:
    yield result.struck
    yield result.moment
    yield result.fault
    ended = ", ".join(f"{count} {status}" for status, count in sorted(result.ended.items()))
    yield ended if result.ok else f"**not as it must**: {'; '.join(result.notes)}"
    for count in (result.lost, result.duplicate, result.answered_again, result.in_flight_again):
        yield "" if count is None else str(count)
    yield "" if result.seconds is None else f"{result.seconds:.1f}"
    yield "" if result.goal_seconds is None else f"{result.goal_seconds:.0f}"


def _all(values: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(values))))


def rendered(document: str, results: Sequence[Result]) -> str:
    """The document with the table between its marks. Raises ValueError when it has no marks."""
    before, begin, rest = document.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT} lacks the lines {BEGIN!r} and {END!r}")
    return f"{before}{begin}\n{table(results)}\n{end}{after}"


def write(path: Path = DOCUMENT) -> None:
    path.write_text(rendered(path.read_text(), read()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; status 1 when it is not up to date"
    )
    if not parser.parse_args().check:
        write()
    elif rendered(text := DOCUMENT.read_text(), read()) != text:
        sys.exit(f"{DOCUMENT.relative_to(ROOT)} is not what the results say: run `make reliability`")


if __name__ == "__main__":
    main()
