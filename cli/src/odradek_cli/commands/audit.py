"""`audit`: whether the log bears out what Odradek promises of a run."""

import asyncio
from typing import Annotated

import typer

from odradek.audit import AuditReport
from odradek_cli.audit_view import report_view
from odradek_cli.auditing import AUDIT_SECONDS, audit_runs
from odradek_cli.commands.options import Json
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import Exit
from odradek_cli.kafka import open_log
from odradek_cli.output import out, print_json
from odradek_cli.runs import load_run


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="The last run by default.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every run, in one pass over the log.")] = False,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds to read the log for, at most.")
    ] = AUDIT_SECONDS,
    json: Json = False,
) -> None:
    """Prove from the log that nothing of a run is lost, double or made up; or name the records that refute it.

    Exit code 7 when it is refuted, 8 when the run has not ended and nothing is wrong so far.

    Example: `odradek audit mcqa-1129-194512-x7`
    """
    if every and run_id is not None:
        raise typer.BadParameter("give a RUN or --all, not both")
    reports = asyncio.run(_audit(find_deployment(), run_id, every, timeout))
    if json:
        documents = [report.as_json() for report in reports]
        print_json(documents if every else documents[0])
    else:
        for report in reports:
            out().print(report_view(report))
    if code := _exit_code(reports):
        raise typer.Exit(code)


async def _audit(deployment: Deployment, run_id: str | None, every: bool, within: float) -> list[AuditReport]:
    if every:
        return await audit_runs(deployment, None, within)
    return await audit_runs(deployment, [run_id or await _last_run(deployment)], within)


async def _last_run(deployment: Deployment) -> str:
    async with open_log(deployment) as log:
        return (await load_run(log, None)).id


def _exit_code(reports: list[AuditReport]) -> Exit:
    if any(report.refuted for report in reports):
        return Exit.REFUTED
    unfinished = any(report.status == "running" for report in reports)
    return Exit.UNFINISHED if unfinished else Exit.OK
