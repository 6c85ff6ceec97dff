"""`runs`, `cancel`: the runs there are, and ending one."""

import asyncio
from typing import Annotated

import typer

from odradek_cli.commands.options import Json, Timeout
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.kafka import SCAN_SECONDS, open_log
from odradek_cli.output import err, note, out, print_json, say
from odradek_cli.render import runs_table, warn_unreadable
from odradek_cli.requests import request_cancel
from odradek_cli.runs import Run, load_runs


def register(app: typer.Typer) -> None:
    app.command()(runs)
    app.command()(cancel)


def runs(
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    timeout: Timeout = SCAN_SECONDS,
    json: Json = False,
) -> None:
    """List the runs, the newest last.

    Example: `odradek runs --limit 5`
    """
    found = asyncio.run(_load_runs(find_deployment(), timeout))[-limit:]
    if json:
        print_json([_run_json(run) for run in found])
    elif found:
        out().print(runs_table(found))
    else:
        note("no run yet: `odradek run ENV --model NAME` starts one")


def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "cancelled by hand",
) -> None:
    """Cancel a run: no more rollouts start, those under way are stopped; all rewards so far are kept.

    Example: `odradek cancel mcqa-1129-194512-x7`
    """
    run = asyncio.run(request_cancel(find_deployment(), run_id, reason))
    if run.finished:
        say(f"{run_id} had already ended: {run.finished.status}")
    else:
        say(f"{run_id}: asked to stop; `odradek watch {run_id}` shows when it has")


async def _load_runs(deployment: Deployment, within: float) -> list[Run]:
    async with open_log(deployment) as log:
        found = await load_runs(log, within)
        warn_unreadable(err(), log.unreadable)
        return found


def _run_json(run: Run) -> dict[str, object]:
    last = run.last
    return {
        "run_id": run.id,
        "environment": run.request.environment,
        "model": run.request.model,
        "dataset": run.request.dataset.name,
        "requested_at": run.request.time.isoformat(),
        "status": run.status,
        "planned": run.planned,
        "admitted": last.admitted if last else None,
        "finished": last.counts.finished if last else None,
        "masked": last.counts.masked if last else None,
        "mean_reward": last.counts.mean_reward if last else None,
    }
