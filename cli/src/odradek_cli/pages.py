"""Results and comparisons as one HTML file each: nothing is loaded, and no text of runs or models is taken as markup."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from xml.etree.ElementTree import Element, SubElement, tostring

from odradek.metrics import Figure, Pair
from odradek_cli import svg
from odradek_cli.compare_view import comparison_pairs
from odradek_cli.comparing import RunComparison
from odradek_cli.errors import CliError, Exit
from odradek_cli.render import number
from odradek_cli.results_view import (
    NO_FIELD,
    complaints,
    coverage_text,
    figure_text,
    interval_text,
    named_figures,
    spent_pairs,
)
from odradek_cli.summary import RunSummary

MOST_ROWS = 1_000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: .5em 0 } td, th { text-align: left; padding: .15em 1em .15em 0 }
th { font-weight: 600; vertical-align: top } .plots { display: flex; flex-wrap: wrap; gap: 1.5em }
figure { margin: 0 } figcaption { font-size: 13px; color: #555 } .bad { color: #b91c1c } svg { max-width: 100% }
"""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
"""What HTML can't hold, not even escaped."""


def write_page(path: Path, page: str) -> None:
    """Write a page to a file.

    Raises:
        CliError: it can't be written.
    """
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} can't be written: {error.strerror}", Exit.INVALID_INPUT) from error


def results_page(summary: RunSummary) -> str:
    """A run's results: figures, plots, groups and rollouts."""
    run, metrics = summary.run, summary.metrics
    html, body = _document(f"Results of {run.id}")
    for line in complaints(summary):
        SubElement(body, "p", {"class": "bad"}).text = line
    named = list(named_figures(metrics))
    facts = [
        ("environment", f"{run.request.environment}, model {run.request.model}, {run.request.dataset.name}"),
        ("status", run.status),
        ("scoring", summary.ways.scoring),
        ("rollouts", coverage_text(summary)),
        *((name, figure_text(figure, of)) for name, figure, of in named),
        *spent_pairs(metrics),
    ]
    _facts(body, facts)
    plots = _section(body, "plots")
    _figure(
        plots, svg.intervals(_bars((name, figure) for name, figure, _ in named)), "figures, 95% intervals"
    )
    _figure(plots, svg.histogram(_task_means(summary)), "tasks by their mean reward")
    if len(metrics.pass_at) > 1:
        _figure(plots, svg.curves(_curves(summary)), "figures at k samples")
    if summary.groups:
        _groups(body, plots, summary)
    _rollouts(body, summary)
    return _text(html)


def comparison_page(comparison: RunComparison) -> str:
    """Two runs against each other: the difference, plots, and the tasks that changed most."""
    found = comparison.found
    html, body = _document(f"{comparison.b.name} against {comparison.a.name}")
    _facts(body, comparison_pairs(comparison))
    plots = _section(body, "plots")
    _figure(plots, svg.intervals(_bars([("A", found.a), ("B", found.b)])), "means over tasks, 95% intervals")
    if found.difference is not None:
        difference = svg.Bar("B - A", found.difference, found.low, found.high)
        _figure(plots, svg.intervals([difference], middle=0.0), "the difference, 95% interval")
        dots = [(f"task {pair.task}", pair.a, pair.b) for pair in found.pairs]
        _figure(plots, svg.scatter(dots, "A", "B"), "a dot a task; above the line B is better")
    _pairs(body, found.pairs)
    return _text(html)


def _document(title: str) -> tuple[Element, Element]:
    html = Element("html", {"lang": "en"})
    head = SubElement(html, "head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY})
    SubElement(head, "title").text = title
    SubElement(head, "style").text = _STYLE
    body = SubElement(html, "body")
    SubElement(body, "h1").text = title
    return html, body


def _text(html: Element) -> str:
    for element in html.iter():
        element.text = _CONTROL.sub("\ufffd", element.text) if element.text else element.text
    return "<!doctype html>\n" + tostring(html, encoding="unicode", method="html") + "\n"


def _facts(body: Element, pairs: Iterable[tuple[str, str]]) -> None:
    table = SubElement(body, "table")
    for name, value in pairs:
        row = SubElement(table, "tr")
        SubElement(row, "th", {"scope": "row"}).text = name.strip()
        SubElement(row, "td").text = value


def _table(body: Element, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with a heading; of very many rows the first."""
    more = f" (the first {MOST_ROWS:,} of {len(rows):,})" if len(rows) > MOST_ROWS else ""
    SubElement(body, "h2").text = title + more
    table = SubElement(body, "table")
    head = SubElement(table, "tr")
    for column in columns:
        SubElement(head, "th", {"scope": "col"}).text = column
    for cells in rows[:MOST_ROWS]:
        row = SubElement(table, "tr")
        for cell in cells:
            SubElement(row, "td").text = cell


def _section(body: Element, name: str) -> Element:
    return SubElement(body, "div", {"class": name})


def _figure(plots: Element, plot: Element, caption: str) -> None:
    figure = SubElement(plots, "figure")
    figure.append(plot)
    SubElement(figure, "figcaption").text = caption


def _bars(figures: Iterable[tuple[str, Figure]]) -> list[svg.Bar]:
    return [
        svg.Bar(name.strip(), figure.value, figure.low, figure.high)
        for name, figure in figures
        if figure.value is not None
    ]


def _curves(summary: RunSummary) -> dict[str, dict[int, float]]:
    metrics = summary.metrics
    series = {
        "pass@": metrics.pass_at,
        "pass^": metrics.pass_hat,
        "avg@": metrics.avg_at,
        "majority@": metrics.majority_at,
    }
    known = {
        name: {k: figure.value for k, figure in figures.items() if figure.value is not None}
        for name, figures in series.items()
    }
    return {name: points for name, points in known.items() if points}


def _task_means(summary: RunSummary) -> list[float]:
    rows = ([score for score in row if score is not None] for row in summary.placed.scores.values())
    return [fmean(row) for row in rows if row]


def _groups(body: Element, plots: Element, summary: RunSummary) -> None:
    figures = [(NO_FIELD if value is None else value, one.mean) for value, one in summary.groups.items()]
    _figure(plots, svg.intervals(_bars(figures[:40])), f"mean reward by {summary.ways.by}")
    rows = [
        (name, str(figure.planned), f"{figure.coverage:.0%}", number(figure.value), interval_text(figure))
        for name, figure in figures
    ]
    columns = (summary.ways.by or "", "rollouts", "coverage", "mean", "95% interval")
    _table(body, "Groups", columns, rows)


def _rollouts(body: Element, summary: RunSummary) -> None:
    rows = [
        (
            reward.rollout_id,
            number(reward.reward),
            str(reward.status),
            str(reward.failure.kind) if reward.failure else reward.truncated_by or "",
            str(reward.turns),
            str(reward.usage.total_tokens),
        )
        for reward in summary.rewards
    ]
    _table(body, "Rollouts", ("rollout", "reward", "status", "why", "turns", "tokens"), rows)


def _pairs(body: Element, pairs: Sequence[Pair]) -> None:
    changed = sorted(pairs, key=lambda pair: -abs(pair.difference))
    rows = [
        (
            pair.task,
            number(pair.a),
            number(pair.b),
            f"{pair.difference:+.3f}",
            "gained" if pair.gained else "lost" if pair.lost else "",
        )
        for pair in changed
    ]
    _table(body, "Tasks, the most changed first", ("task", "A", "B", "B - A", ""), rows)
