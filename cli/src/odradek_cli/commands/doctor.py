"""`doctor`: what is missing for a local stack, and how to get it. Needs no stack."""

import typer
from rich.text import Text

from odradek_cli.commands.options import Json
from odradek_cli.diagnosis import Finding, diagnose
from odradek_cli.errors import Exit
from odradek_cli.output import out, print_json
from odradek_cli.render import listing, status_text


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(json: Json = False) -> None:
    """Say what this machine lacks to run a local stack, and how to get it. Exit code 6 when something is missing.

    Example: `odradek doctor`
    """
    findings = diagnose()
    if json:
        print_json([{"what": f.what, "status": f.status, "found": f.found, "fix": f.fix} for f in findings])
    else:
        _print(findings)
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(Exit.SOMETHING_MISSING)


def _print(findings: list[Finding]) -> None:
    table = listing("WHAT", "STATUS", "FOUND")
    for finding in findings:
        table.add_row(Text(finding.what), status_text(finding.status), Text(finding.found))
        if finding.fix:
            table.add_row("", "", Text(f"-> {finding.fix}", style="yellow"))
    out().print(table)
