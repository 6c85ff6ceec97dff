"""What a person sees: tables and lines made of what was read. Text of models and tasks is never taken as markup."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from odradek.metrics import AtK, Mean
from odradek_cli.progress import View, duration
from odradek_cli.runs import Run
from odradek_cli.summary import RunSummary, Spread
from odradek_schemas.codec import RecordError
from odradek_schemas.events import BadRow, RunStatus

MOST_BAD_ROWS = 20
_ENDED = {
    RunStatus.FINISHED: "finished",
    RunStatus.CANCELLED: "was cancelled",
    RunStatus.FAILED: "failed",
}
_STATUS_STYLES = {
    "finished": "green",
    "completed": "green",
    "healthy": "green",
    "ok": "green",
    "running": "cyan",
    "requested": "cyan",
    "starting": "cyan",
    "truncated": "yellow",
    "cancelled": "yellow",
    "cancelling": "yellow",
    "warning": "yellow",
    "failed": "red",
    "missing": "red",
}


def status_text(status: str) -> Text:
    return Text(status, style=_STATUS_STYLES.get(status, ""))


def listing(*columns: str) -> Table:
    """A table without lines, for lists of things; only its last column is ever folded."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column != columns[-1])
    return table


def facts(pairs: Iterable[tuple[str, RenderableType]]) -> Table:
    """Names and values, one a line."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(value) if isinstance(value, str) else value)
    return table


def runs_table(runs: Iterable[Run]) -> Table:
    table = listing("RUN", "ENVIRONMENT", "MODEL", "STARTED", "STATUS", "DONE", "REWARD")
    for run in runs:
        last = run.last
        table.add_row(
            Text(run.id),
            Text(run.request.environment),
            Text(run.request.model),
            f"{run.request.time.astimezone():%m-%d %H:%M:%S}",
            status_text(run.status),
            f"{last.counts.finished}/{last.planned}" if last else "-",
            number(last.counts.mean_reward if last else None),
        )
    return table


def summary_view(summary: RunSummary) -> RenderableType:
    """A run's results: what was asked, the metrics over the planned rollouts, what went wrong, what it took."""
    run, metrics = summary.run, summary.metrics
    pairs: list[tuple[str, RenderableType]] = [
        ("run", Text(run.id, style="bold")),
        ("environment", f"{run.request.environment}, model {run.request.model}"),
        ("status", status_text(run.status)),
        ("rollouts", _coverage(summary)),
        ("mean reward", mean_text(metrics.mean)),
        *((f"pass@{at.k}", at_k_text(at)) for at in metrics.pass_at),
        *((f"avg@{at.k}", at_k_text(at)) for at in metrics.avg_at if at.k > 1),
        *((f"  {name}", number(value)) for name, value in metrics.components.items()),
        ("ends", counts_text(summary.ends)),
        ("failures", counts_text(summary.failures) if summary.failures else "none"),
    ]
    if summary.truncated_by:
        pairs.append(("truncated by", counts_text(summary.truncated_by)))
    pairs.append(("tokens", _tokens(summary)))
    if summary.rollout_seconds:
        pairs.append(("rollout time", _spread(summary.rollout_seconds)))
    return Group(facts(pairs), *_complaints(summary))


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


def progress_line(view: View) -> str:
    """A run at one moment, in one line."""
    parts = [f"{view.finished}/{view.planned} done", f"{view.in_flight} in flight"]
    if view.mean_reward is not None:
        parts.append(f"reward {number(view.mean_reward)}")
    if view.failures:
        parts.append(f"failures: {counts_text(view.failures)}")
    if view.tokens_per_second:
        parts.append(f"{view.tokens_per_second:.3g} tokens/s")
    if view.eta_seconds is not None and view.finished < view.planned:
        parts.append(f"ETA {duration(view.eta_seconds)}")
    return ", ".join(parts)


def progress_panel(run_id: str, view: View | None, note: str) -> RenderableType:
    """The same, for a terminal: a bar above the line."""
    if view is None:
        return Text.assemble((run_id, "bold"), f"  {note}")
    bar = ProgressBar(total=max(1, view.planned), completed=view.finished, width=40)
    head = Table.grid(padding=(0, 2))
    head.add_row(Text(run_id, style="bold"), bar, f"{view.share:.0%}")
    lines: list[RenderableType] = [head, Text(progress_line(view))]
    if note:
        lines.append(Text(note, style="yellow"))
    return Group(*lines)


def bad_rows_text(bad: Iterable[BadRow], name: str) -> str:
    """What is wrong with a data set, a row a line: `tasks.jsonl:3: field: reason`."""
    rows = list(bad)
    lines = [
        f"{name}:{row.line}: {row.field}: {row.reason}" if row.field else f"{name}:{row.line}: {row.reason}"
        for row in rows[:MOST_BAD_ROWS]
    ]
    if len(rows) > MOST_BAD_ROWS:
        lines.append(f"and {len(rows) - MOST_BAD_ROWS} more")
    return "\n".join(lines)


def warn_unreadable(console: Console, unreadable: list[RecordError]) -> None:
    """Say on stderr that some records could not be read."""
    if unreadable:
        more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
        warning = f"warning: skipped a record that can't be read: {unreadable[0]}{more}"
        console.print(warning, markup=False, soft_wrap=True)


def mean_text(mean: Mean) -> str:
    if mean.value is None:
        return "none: no rollout was scored"
    if mean.low is None or mean.high is None:
        return f"{number(mean.value)} (one task: no interval)"
    return f"{number(mean.value)}, 95% interval {number(mean.low)} to {number(mean.high)}"


def at_k_text(at: AtK) -> str:
    of = f" over {at.tasks} of {at.planned} tasks" if at.tasks < at.planned else ""
    return f"{number(at.value)}{of}"


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _coverage(summary: RunSummary) -> str:
    metrics = summary.metrics
    if not summary.planned_known:
        return f"{metrics.finished} finished (how many are planned is not known yet), {metrics.mean.scored} scored"
    return (
        f"{metrics.finished} of {metrics.planned} planned finished, {metrics.mean.scored} scored "
        f"(coverage {metrics.mean.coverage:.0%})"
    )


def _tokens(summary: RunSummary) -> str:
    usage = summary.usage
    text = f"{usage.total_tokens:,} ({usage.prompt_tokens:,} prompt, {usage.completion_tokens:,} completion)"
    return f"{text}, {summary.tokens_per_second:.3g}/s" if summary.tokens_per_second else text


def _spread(spread: Spread) -> str:
    return f"median {spread.p50:.2f} s, p95 {spread.p95:.2f} s, longest {spread.longest:.2f} s"


def _complaints(summary: RunSummary) -> list[Text]:
    """What a reader of the figures must know besides."""
    lines = []
    finished = summary.run.finished
    if finished and finished.failure:
        lines.append(f"The run {_ENDED[finished.status]}: {finished.failure.message}")
    if finished and finished.bad_rows:
        lines.append(bad_rows_text(finished.bad_rows, summary.run.request.dataset.name))
    if summary.duplicates:
        lines.append(f"{summary.duplicates} rewards are there twice; each rollout was counted once.")
    return [Text(line, style="red") for line in lines]
