"""An audit's report for a person: a line an invariant, then what refutes them."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from odradek.audit import AuditReport, Invariant, Verdict, Violation

MOST_SHOWN = 20
_STYLES = {Verdict.CLEAN: "bold green", Verdict.REFUTED: "bold red", Verdict.INCOMPLETE: "bold yellow"}


def report_view(report: AuditReport) -> RenderableType:
    return Group(_head(report), _invariants(report), *_notes(report), *_violations(report))


def _head(report: AuditReport) -> Text:
    planned = "an unknown number of" if report.planned is None else f"{report.planned:,}"
    text = Text(f"{report.run_id}: ")
    text.append(str(report.verdict), style=_STYLES[report.verdict])
    state = "has not ended" if report.status == "running" else f"is {report.status}"
    text.append(
        f" (the run {state}; {planned} rollouts planned, {report.rewards:,} rewarded; "
        f"{report.records:,} records in {report.seconds:.1f} s)"
    )
    return text


def _invariants(report: AuditReport) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for invariant in Invariant:
        table.add_row(*_invariant(report, invariant))
    return table


def _invariant(report: AuditReport, invariant: Invariant) -> Iterator[RenderableType]:
    wrong, checked = report.findings.counts[invariant], report.findings.checked[invariant]
    yield Text(f"{wrong:,} wrong", style="red") if wrong else Text("ok", style="green")
    yield Text(str(invariant), style="bold")
    yield f"{checked:,}"
    yield Text(invariant.statement)


def _notes(report: AuditReport) -> Iterator[RenderableType]:
    if report.purged:
        topics = ", ".join(report.purged)
        yield Text(f"not all could be checked: old records of {topics} are deleted", style="yellow")
    for note in report.notes:
        yield Text(f"note: {note}", style="yellow")


def _violations(report: AuditReport) -> Iterator[RenderableType]:
    for found in report.violations[:MOST_SHOWN]:
        yield from _violation(found)
    left = sum(report.findings.counts.values()) - min(MOST_SHOWN, len(report.violations))
    if left:
        yield Text(f"and {left:,} more", style="red")


def _violation(found: Violation) -> Iterator[RenderableType]:
    head = Text(f"{found.invariant}: ", style="red")
    head.append(f"{found.rollout_id}: {found.what}" if found.rollout_id else found.what, style="default")
    yield head
    details = []
    if found.places:
        details.append("at " + ", ".join(map(str, found.places)))
    if found.expected is not None:
        details.append(f"expected {found.expected}, found {found.found}")
    if details:
        yield Padding(Text("; ".join(details), style="dim"), (0, 0, 0, 2))
