"""The results as Markdown tables (pure)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.causes import CAUSES
from benchmarks.goals import Goal

Latest = Mapping[str, Mapping[str, Any]]
MISSING = "not measured"


def number(value: float) -> str:
    """With as many digits as mean something."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def goals(latest: Latest, wanted: Sequence[Goal]) -> str:
    """Goal and measured side by side."""
    rows = []
    for goal in wanted:
        found = figure(latest, goal.series, goal.figure)
        if found is None:
            rows.append((goal.title, goal.text, MISSING, "", ""))
            continue
        met = {True: "yes", False: "no", None: ""}[goal.met(found)]
        rows.append(
            (
                goal.title,
                goal.text,
                f"{number(goal.measured(found))} {goal.unit}".strip(),
                spread(found) + _cut(latest, goal),
                met,
            )
        )
    return markdown(("", "goal", "measured (median)", "range", "met"), rows)


def figure(latest: Latest, series: str, name: str) -> Mapping[str, Any] | None:
    """The summary of one figure, None when it was not measured."""
    found: Mapping[str, Any] | None = latest.get(series, {}).get("figures", {}).get(name)
    return found


def side_by_side(latest: Latest, series: Mapping[str, str], figures: Mapping[str, str]) -> str:
    """Medians of the same figures of several series: `series` and `figures` by what they are called here."""
    there = {name: title for name, title in series.items() if name in latest}
    rows = []
    for name, title in figures.items():
        cells = [figure(latest, of, name) for of in there]
        if any(cells):
            rows.append((title, *("" if cell is None else number(cell["median"]) for cell in cells)))
    return markdown(("", *there.values()), rows)


def spread(found: Mapping[str, Any]) -> str:
    if len(found["values"]) == 1:
        return "one run"
    return f"{number(found['min'])} to {number(found['max'])}, {len(found['values'])} runs"


def _cut(latest: Latest, goal: Goal) -> str:
    return "" if latest[goal.series].get("complete", True) else ", cut short"


def components(latest: Latest, series: Mapping[str, str], prefix: str) -> str:
    """A figure for each component (`prefix:component`), one column for each series; medians."""
    names = sorted({name for key in series for name in _with_prefix(latest, key, prefix)})
    rows = [[name, *(_median(latest, key, f"{prefix}:{name}") for key in series)] for name in names]
    return markdown(("", *series.values()), rows)


def budget(latest: Latest, series: str) -> str:
    """Microseconds per rollout: components across, causes down, sums at the ends."""
    found = _with_prefix(latest, series, "us")
    split = {tuple(name.split(":", 1)): value["median"] for name, value in found.items()}
    across = sorted({component for component, _ in split}, key=lambda c: -_sum(split, component=c))
    order = {cause: place for place, cause in enumerate(CAUSES)}
    down = sorted({cause for _, cause in split}, key=lambda cause: (order.get(cause, 99), cause))
    rows = [
        [cause, *(_cell(split.get((c, cause))) for c in across), _cell(_sum(split, cause=cause))]
        for cause in down
    ]
    rows.append(["**all**", *(_cell(_sum(split, component=c)) for c in across), _cell(sum(split.values()))])
    return markdown(("µs per rollout", *across, "all"), rows) if split else MISSING


def scaling(latest: Latest, kind: str, steps: Sequence[int], columns: Mapping[str, str]) -> str:
    """CPU and transactions per rollout at each step."""
    rows = []
    for step in steps:
        series = [f"scaling.{kind}.{step}.{work}" for work in columns]
        costs = [[_cost(latest, name), _median(latest, name, "transactions_per_rollout")] for name in series]
        rows.append([str(step), *(cell for pair in costs for cell in pair)])
    heads = [
        head
        for title in columns.values()
        for head in (f"{title}, ms of CPU per rollout", "transactions per rollout")
    ]
    return markdown((kind, *heads), rows)


def provenance(latest: Latest) -> str:
    """Which machine, when, and how undisturbed: a row for each machine, commit and day."""
    seen: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for line in latest.values():
        seen.setdefault((line["machine"], line["commit"], line["date"][:10]), []).append(line)
    rows = []
    for (machine, commit, day), lines in sorted(seen.items(), key=lambda item: item[0][2]):
        names = ", ".join(sorted({line["series"].split(".")[0] for line in lines}))
        times = [ms for line in lines for ms in line["calibration_ms"]]
        rows.append((day, f"`{commit}`", machine, f"{min(times):.0f} to {max(times):.0f} ms", names))
    return markdown(("day", "commit", "machine", "calibration", "measured"), rows)


def history(lines: Sequence[Mapping[str, Any]], wanted: Sequence[Goal]) -> str:
    """The first and the last complete line of each figure."""
    rows = []
    for goal in wanted:
        of = [line for line in lines if line["series"] == goal.series and goal.figure in line["figures"]]
        if goal.keeps is not None and len(of) > 1 and goal.figure not in ("lost", "duplicate"):
            first, last = (line["figures"][goal.figure]["median"] for line in (of[0], of[-1]))
            change = f"× {last / first:.2f}" if first else ""
            rows.append(
                (
                    goal.title,
                    f"{number(first)} (`{of[0]['commit']}`)",
                    f"{number(last)} (`{of[-1]['commit']}`)",
                    change,
                )
            )
    return markdown(("", "first", "last", "change"), rows) if rows else "No figure has been measured twice."


def _with_prefix(latest: Latest, series: str, prefix: str) -> dict[str, Any]:
    figures = latest.get(series, {}).get("figures", {})
    return {
        name.removeprefix(f"{prefix}:"): of for name, of in figures.items() if name.startswith(f"{prefix}:")
    }


def _median(latest: Latest, series: str, name: str) -> str:
    found = figure(latest, series, name)
    return "" if found is None else number(found["median"])


def _cost(latest: Latest, series: str) -> str:
    found = figure(latest, series, "cpu_ms_per_rollout")
    return MISSING if found is None else f"{number(found['median'])} ({spread(found)})"


def _cell(value: float | None) -> str:
    return "" if value is None or value < 0.5 else f"{value:,.0f}"


def _sum(split: Mapping[Any, float], component: str | None = None, cause: str | None = None) -> float:
    return sum(v for (c, k), v in split.items() if component in (None, c) and cause in (None, k))
