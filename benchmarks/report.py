"""Writes the tables of docs/performance.md and docs/scaling.md anew from the results: `python -m benchmarks.report [--check]`.

Each table stands between `<!-- table: NAME -->` and `<!-- end of table -->`; the prose around it is written by hand.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import sizing, tables
from benchmarks.goals import FOUR, GOALS, LONG_GOALS, ONE
from benchmarks.harness.machine import ROOT
from benchmarks.harness.results import RESULTS, Line, read_history, read_latest
from benchmarks.harness.workloads import MULTI_STEP, SINGLE_TURN

PAGES = (ROOT / "docs/performance.md", ROOT / "docs/scaling.md")
_BLOCK = re.compile(r"<!-- table: ([a-z-]+) -->\n.*?<!-- end of table -->", re.DOTALL)
_FURTHER = {
    "throughput": ("cpu",),
    "budget": ("budget-single-turn", "budget-multi-step"),
    "gateway": ("gateway",),
    "endurance": ("endurance",),
    "crowd": ("crowd", "loop-delay"),
    "scaling": ("workers", "partitions"),
}
"""The tables of a measurement besides goal and measured."""
_CROWDS = {"crowd": "a model that takes 30 s", "crowd.spread": "a model that takes 15 to 45 s"}
_GATEWAY = {
    "gateway.kafka": "over Kafka",
    "gateway.http": "over HTTP",
    "gateway.http_streamed": "over HTTP, streamed",
    "gateway.litellm": "LiteLLM's proxy",
}
_GATEWAY_FIGURES = {
    "requests_per_second": "requests per second, as fast as it goes",
    "requests_per_second_of_one_core": "requests per second of one core",
    "cpu_ms_per_request": "CPU per request, ms",
    **{
        f"{what}_ms_{q}_at_{rate}": f"{told} at {rate}/s, {q}, ms"
        for rate in (100, 500)
        for what, told in (("added", "added"), ("first", "added to the first byte"))
        for q in ("p50", "p90", "p99")
    },
}
_AUTOSCALING_FIGURES = {
    "most_load": "highest load: open sessions, or actions that wait",
    "most_backlog": "most actions that wait",
    "most_workers": "most env-workers",
    "seconds_to_most_workers": "until they all lived, s",
    "run_seconds": "until the run was over, s",
    "seconds_to_one_worker": "until one was left, s",
}
_LOADS = [sizing.Load(in_flight) for in_flight in (100, 10_000, 1_000_000)]
_SHORT_LOADS = [sizing.Load(in_flight, seconds=10, calls=1) for in_flight in (100, 10_000, 1_000_000)]
_TITLES = {SINGLE_TURN.name: SINGLE_TURN.title, MULTI_STEP.name: MULTI_STEP.title}


def rendered(latest: tables.Latest, lines: Sequence[Line]) -> Mapping[str, Callable[[], str]]:
    """The tables by their names, from the latest results and all lines of their history."""
    cpu = {ONE: SINGLE_TURN.title, FOUR: MULTI_STEP.title}
    return {
        "goals": lambda: tables.goals(latest, GOALS),
        "long-goals": lambda: tables.goals(latest, LONG_GOALS),
        "cpu": lambda: tables.components(latest, cpu, "cpu_ms"),
        "workers": lambda: tables.scaling(latest, "workers", (1, 2, 4), _TITLES),
        "partitions": lambda: tables.scaling(latest, "partitions", (8, 16, 32), _TITLES),
        "crowd": lambda: tables.components(latest, _CROWDS, "rss_mb"),
        "loop-delay": lambda: tables.components(latest, _CROWDS, "loop_ms_p99"),
        "endurance": lambda: tables.components(
            latest, {"endurance": "grown after the first fifth, MB"}, "grown_mb"
        ),
        "budget-single-turn": lambda: tables.budget(latest, "budget.single_turn"),
        "budget-multi-step": lambda: tables.budget(latest, "budget.multi_step"),
        "gateway": lambda: tables.side_by_side(latest, _GATEWAY, _GATEWAY_FIGURES),
        "autoscaling": lambda: tables.side_by_side(
            latest, {"autoscaling": "from the run's start"}, _AUTOSCALING_FIGURES
        ),
        "history": lambda: tables.history(lines, (*GOALS, *LONG_GOALS)),
        "provenance": lambda: tables.provenance(latest),
        "each-rollout": lambda: sizing.each_rollout(sizing.Measured(latest)),
        "sizes": lambda: sizing.table(_LOADS, sizing.Measured(latest)),
        "sizes-short": lambda: sizing.table(_SHORT_LOADS, sizing.Measured(latest)),
    }


def of_measurements(latest: tables.Latest, measured: Iterable[str]) -> str:
    """The goals and the further tables of the series that were measured, for a terminal."""
    kinds = {series.split(".")[0] for series in measured}
    rows = [goal for goal in (*GOALS, *LONG_GOALS) if goal.series in set(measured)]
    names = [name for kind, of in _FURTHER.items() if kind in kinds for name in of]
    texts = [tables.goals(latest, rows)] if rows else []
    return "\n\n".join([*texts, *(rendered(latest, [])[name]() for name in names)])


def rewrite(page: str, folder: Path) -> str:
    """The page with its tables as the results in `folder` have them. Raises KeyError for a table that nobody knows."""
    known = rendered(read_latest(folder), read_history(folder))
    return _BLOCK.sub(
        lambda block: f"<!-- table: {block[1]} -->\n{known[block[1]]()}\n<!-- end of table -->", page
    )


def write() -> None:
    """Bring the pages up to the results in the repository."""
    for page in PAGES:
        page.write_text(rewrite(page.read_text(), RESULTS))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--check", action="store_true", help="only say whether the pages are as the results are"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results are")
    given = parser.parse_args()
    fresh = {page: rewrite(page.read_text(), given.results) for page in PAGES}
    stale = [str(page.relative_to(ROOT)) for page, text in fresh.items() if text != page.read_text()]
    if given.check:
        sys.exit(
            f"{', '.join(stale)}: not as the results are: run python -m benchmarks.report" if stale else 0
        )
    for page, text in fresh.items():
        page.write_text(text)


if __name__ == "__main__":
    main()
