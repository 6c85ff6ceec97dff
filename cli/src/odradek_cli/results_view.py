"""A run's results for a person: each figure with its interval, and over how much of what was planned it stands."""

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from odradek.metrics import Figure, Missing, Percentiles, Summary
from odradek_cli.progress import duration
from odradek_cli.render import bad_rows_text, counts_text, facts, listing, number, status_text
from odradek_cli.summary import RunSummary
from odradek_schemas.events import RunStatus
from odradek_schemas.events.results import PRIMARY_SCORING

_ENDED = {
    RunStatus.FINISHED: "finished",
    RunStatus.CANCELLED: "was cancelled",
    RunStatus.FAILED: "failed",
}
_COUNT = {Missing.EXCLUDE: "left out", Missing.ZERO: "counted 0"}
NO_FIELD = "(no such field)"

Pairs = Iterator[tuple[str, RenderableType]]


def summary_view(summary: RunSummary) -> RenderableType:
    """A run's results: what was asked, the metrics over the planned rollouts, what went wrong, what it took."""
    pairs = [*_head(summary), *_figures(summary.metrics), *_course(summary)]
    parts: list[RenderableType] = [facts(pairs)]
    if summary.groups:
        parts += [Text(), groups_table(summary)]
    return Group(*parts, *(Text(line, style="red") for line in complaints(summary)))


def groups_table(summary: RunSummary) -> Table:
    """A line for each group, with the figures at the most samples."""
    first = next(iter(summary.groups.values()))
    k = max(first.pass_at)
    columns = (f"pass@{k}", f"pass^{k}", *((f"majority@{k}",) if summary.metrics.majority_at else ()))
    table = listing((summary.ways.by or "").upper(), "TASKS", "COVERAGE", "MEAN", "95% INTERVAL", *columns)
    for value, metrics in summary.groups.items():
        at_k = [metrics.pass_at[k], metrics.pass_hat[k]]
        if summary.metrics.majority_at:
            at_k += [metrics.majority_at[k]] if metrics.majority_at else [Figure(0, 0, metrics.missing)]
        table.add_row(
            Text(NO_FIELD if value is None else value),
            str(metrics.tasks),
            f"{metrics.mean.coverage:.0%}",
            number(metrics.mean.value),
            interval_text(metrics.mean) or "-",
            *(number(figure.value) for figure in at_k),
        )
    return table


def rollouts_table(summary: RunSummary) -> Table:
    table = listing("ROLLOUT", "REWARD", "STATUS", "WHY", "TURNS", "TOKENS", "TIME")
    for reward in summary.rewards:
        why = str(reward.failure.kind) if reward.failure else reward.truncated_by or ""
        table.add_row(
            Text(reward.rollout_id),
            number(reward.reward),
            status_text(str(reward.status)),
            Text(why),
            str(reward.turns),
            str(reward.usage.total_tokens),
            duration((reward.finished_at - reward.started_at).total_seconds()),
        )
    return table


def figure_text(figure: Figure, of: str) -> str:
    """A figure with its interval; where some are missing, over how many it is and what the missing ones count."""
    if figure.value is None:
        needed = "was scored" if of == "rollouts" else "has scores enough"
        return f"none: none of {figure.planned} {of} {needed}"
    interval = interval_text(figure)
    text = number(figure.value) + (f", 95% interval {interval}" if interval else " (one task: no interval)")
    gone = figure.planned - figure.scored
    return f"{text}; {gone} of {figure.planned} {of} missing, {_COUNT[figure.missing]}" if gone else text


def interval_text(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f"{number(figure.low)} to {number(figure.high)}"


def coverage_text(summary: RunSummary) -> str:
    metrics = summary.metrics
    if not summary.planned_known:
        return f"{metrics.finished} finished (how many are planned is not known yet), {metrics.mean.scored} scored"
    return (
        f"{metrics.finished} of {metrics.planned} planned finished, {metrics.mean.scored} scored "
        f"(coverage {metrics.mean.coverage:.0%}; missing ones are {_COUNT[metrics.missing]})"
    )


def percentiles_text(percentiles: Percentiles, digits: str = ",.0f", unit: str = "") -> str:
    """Median, 95th percentile, the most, and the sum; of how many, where it is not known of all."""
    values = (("median", percentiles.p50), ("p95", percentiles.p95), ("most", percentiles.most))
    text = ", ".join(f"{name} {unit}{value:{digits}}" for name, value in values if value is not None)
    whole = f"; {unit}{percentiles.total:{digits}} in all"
    known = f" (of {percentiles.known} of {percentiles.planned} rollouts)"
    return text + whole + (known if percentiles.known < percentiles.planned else "")


def complaints(summary: RunSummary) -> list[str]:
    """What a reader of the figures must know besides."""
    lines = []
    finished = summary.run.finished
    if finished and finished.failure:
        lines.append(f"The run {_ENDED[finished.status]}: {finished.failure.message}")
    if finished and finished.bad_rows:
        lines.append(bad_rows_text(finished.bad_rows, summary.run.request.dataset.name))
    if summary.duplicates:
        lines.append(f"{summary.duplicates} rewards are there twice; each rollout was counted once.")
    return lines


def named_figures(metrics: Summary) -> Iterator[tuple[str, Figure, str]]:
    """Every figure with its name and what is counted in it. What is the same for k = 1 by definition is left out."""
    yield "mean reward", metrics.mean, "rollouts"
    series: tuple[tuple[str, Mapping[int, Figure]], ...] = (
        ("pass@", metrics.pass_at),
        ("pass^", metrics.pass_hat),
        ("avg@", metrics.avg_at),
        ("majority@", metrics.majority_at),
    )
    for name, figures in series:
        for k, figure in figures.items():
            if k > 1 or name == "pass@":
                yield f"{name}{k}", figure, "tasks"
    for name, figure in metrics.components.items():
        yield f"  {name}", figure, "rollouts"


def _head(summary: RunSummary) -> Pairs:
    request = summary.run.request
    yield "run", Text(summary.run.id, style="bold")
    yield "environment", f"{request.environment}, model {request.model}"
    yield "status", status_text(summary.run.status)
    if summary.ways.scoring != PRIMARY_SCORING:
        yield "scoring", summary.ways.scoring
    yield "rollouts", coverage_text(summary)


def _figures(metrics: Summary) -> Pairs:
    for name, figure, of in named_figures(metrics):
        yield name, figure_text(figure, of)


def _course(summary: RunSummary) -> Pairs:
    yield "ends", counts_text(summary.ends)
    yield "failures", counts_text(summary.failures) if summary.failures else "none"
    if summary.truncated_by:
        yield "truncated by", counts_text(summary.truncated_by)
    yield "tokens", _tokens(summary)
    yield from spent_pairs(summary.metrics)


def spent_pairs(metrics: Summary) -> Iterator[tuple[str, str]]:
    """What rollouts took, a line a quantity; of those that none is known of, none."""
    spent = metrics.spent
    for name, title, digits, unit in (
        ("tokens", "  a rollout", ",.0f", ""),
        ("turns", "turns", ",.0f", ""),
        ("seconds", "seconds", ",.2f", ""),
        ("cost", "cost", ",.4f", "$"),
    ):
        if spent[name].known:
            yield title, percentiles_text(spent[name], digits, unit)


def _tokens(summary: RunSummary) -> str:
    usage = summary.usage
    text = f"{usage.total_tokens:,} ({usage.prompt_tokens:,} prompt, {usage.completion_tokens:,} completion)"
    return f"{text}, {summary.tokens_per_second:.3g}/s" if summary.tokens_per_second else text
