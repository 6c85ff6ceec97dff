"""`blobs gc`: old blobs are deleted."""

import asyncio
from typing import Annotated

import typer

from odradek_cli.commands.options import Json
from odradek_cli.deployment import find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.output import note, out, print_json, say
from odradek_cli.render import listing
from odradek_cli.sweeping import Sweep, sweep

OLD_DAYS = 30
GC_SECONDS = 3600.0


def register(app: typer.Typer) -> None:
    blobs = typer.Typer(no_args_is_help=True, help="Large values that lie outside the log.")
    blobs.callback()(lambda: None)
    blobs.command()(gc)
    app.add_typer(blobs, name="blobs")


def gc(
    older_than: Annotated[
        int | None, typer.Option(min=1, metavar="DAYS", help=f"Days before today; {OLD_DAYS} unless given.")
    ] = None,
    long: Annotated[
        bool,
        typer.Option(
            "--long",
            help="Delete of the class `long` instead: data sets, trajectories, rewards. Their records stay in the log "
            "and can't be read any more.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds, at most.")] = GC_SECONDS,
    json: Json = False,
) -> None:
    """Delete the blobs of old days: what calls, actions and answers in flight needed.

    Days that records in the log may still refer to are kept, however old they are.

    Examples: `odradek blobs gc --dry-run`, `odradek blobs gc --older-than 14`
    """
    if long and older_than is None:
        raise CliError(
            "--long deletes results for good", Exit.USAGE, "say how old they must be: --older-than DAYS"
        )
    deployment, retention = find_deployment(), "long" if long else "days"
    swept = asyncio.run(sweep(deployment, retention, older_than or OLD_DAYS, dry_run, timeout))
    if swept.needed is not None:
        note(f"kept from {swept.needed} on: records that are still in the log may refer to them")
    _print_json(swept, dry_run) if json else _print(swept, dry_run)


def _print(swept: Sweep, dry_run: bool) -> None:
    if not swept.days:
        say("nothing is old enough")
        return
    table = listing("CLASS", "DAY", "BLOBS", "MIB")
    for day in swept.days:
        table.add_row(day.retention, day.day, str(day.deleted.blobs), f"{day.deleted.size / 2**20:.1f}")
    out().print(table)
    say(f"{'would delete' if dry_run else 'deleted'} {sum(day.deleted.blobs for day in swept.days)} blobs")


def _print_json(swept: Sweep, dry_run: bool) -> None:
    print_json(
        {
            "dry_run": dry_run,
            "kept_from": None if swept.needed is None else swept.needed.isoformat(),
            "days": [
                {"class": d.retention, "day": d.day, "blobs": d.deleted.blobs, "bytes": d.deleted.size}
                for d in swept.days
            ],
        }
    )
