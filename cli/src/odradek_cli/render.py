"""What a person sees: tables and lines made of what was read. Text of models and tasks is never taken as markup."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from odradek_cli.progress import View, duration
from odradek_cli.runs import Run
from odradek_schemas.codec import RecordError
from odradek_schemas.events import BadRow

MOST_BAD_ROWS = 20
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


def progress_line(view: View) -> str:
    """A run at one moment, in one line."""
    parts = [f"{view.finished}/{view.planned} done", f"{view.in_flight} in flight"]
    if view.mean_reward is not None:
        parts.append(f"reward {number(view.mean_reward)}")
    if view.masked and view.coverage is not None:
        parts.append(f"coverage {view.coverage:.0%}")
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


def counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
