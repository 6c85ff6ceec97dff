"""`watch`: following a run until it ends, and what Ctrl-C does meanwhile."""

import asyncio
import sys
from enum import StrEnum
from typing import Annotated

import typer

from odradek_cli.commands.options import Json
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import Exit
from odradek_cli.kafka import open_log
from odradek_cli.output import err, note, out, print_json
from odradek_cli.render import warn_unreadable
from odradek_cli.requests import request_cancel
from odradek_cli.results_view import summary_view
from odradek_cli.runs import load_rewards, load_run
from odradek_cli.summary import RunSummary, as_json, summarize_run
from odradek_cli.watching import PATIENCE_SECONDS, Screen, follow_run
from odradek_schemas.events import RunStatus


class OnInterrupt(StrEnum):
    """What Ctrl-C does to a run that is watched."""

    ASK = "ask"
    DETACH = "detach"
    CANCEL = "cancel"


Interrupt = Annotated[
    OnInterrupt,
    typer.Option(
        help="What Ctrl-C does: let the run go on, cancel it, or ask (on a terminal; elsewhere: detach)."
    ),
]

Patience = Annotated[
    float,
    typer.Option(
        min=1, help="Seconds to wait while Kafka or a kind of worker that the run needs is missing."
    ),
]


def register(app: typer.Typer) -> None:
    app.command()(watch)


def watch(
    run_id: Annotated[str, typer.Argument(metavar="RUN")],
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds to watch for, at most; else the run's own deadline.")
    ] = None,
    patience: Patience = PATIENCE_SECONDS,
    on_interrupt: Interrupt = OnInterrupt.ASK,
    json: Json = False,
) -> None:
    """Follow a run live until it ends, then print its results.

    Says within seconds when Kafka or a kind of worker that the run needs is missing; exit code 3 when it stays so.

    Example: `odradek watch mcqa-1129-194512-x7`
    """
    watch_to_the_end(find_deployment(), run_id, on_interrupt, json, timeout, patience)


def watch_to_the_end(
    deployment: Deployment,
    run_id: str,
    on_interrupt: OnInterrupt,
    json: bool,
    timeout: float | None = None,
    patience: float = PATIENCE_SECONDS,
) -> None:
    """Watch, act on Ctrl-C as asked, print the results, and exit by how the run ended."""
    summary = _watched(deployment, run_id, on_interrupt, timeout, patience)
    if json:
        print_json(as_json(summary))
    else:
        out().print(summary_view(summary))
    raise typer.Exit(exit_code(summary))


def exit_code(summary: RunSummary) -> Exit:
    """0 when the run finished and something was scored."""
    finished = summary.run.finished
    done = finished is not None and finished.status is RunStatus.FINISHED
    return Exit.OK if done and summary.metrics.mean.scored else Exit.RUN_FAILED


def _watched(
    deployment: Deployment, run_id: str, on_interrupt: OnInterrupt, timeout: float | None, patience: float
) -> RunSummary:
    """The run's results once it ended, cancelled if so wished; detaching exits."""
    while True:
        try:
            return asyncio.run(_watch(deployment, run_id, timeout, patience))
        except KeyboardInterrupt:
            if _chosen(on_interrupt) is OnInterrupt.DETACH:
                note(f"detached; {run_id} goes on: `odradek watch {run_id}`")
                raise typer.Exit(Exit.INTERRUPTED) from None
            asyncio.run(request_cancel(deployment, run_id, "interrupted"))
            note("cancelling; what was done is kept (Ctrl-C again: detach)")
            on_interrupt = OnInterrupt.DETACH


def _chosen(on_interrupt: OnInterrupt) -> OnInterrupt:
    """What to do after Ctrl-C. A second one, or no terminal to ask on, means detach."""
    if on_interrupt is not OnInterrupt.ASK:
        return on_interrupt
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return OnInterrupt.DETACH
    try:
        answer = typer.prompt("\n[d]etach and let the run go on, or [c]ancel it?", default="d", err=True)
    except (KeyboardInterrupt, typer.Abort):
        return OnInterrupt.DETACH
    return OnInterrupt.CANCEL if answer.strip().lower().startswith("c") else OnInterrupt.DETACH


async def _watch(deployment: Deployment, run_id: str, timeout: float | None, patience: float) -> RunSummary:
    async with open_log(deployment) as log:
        run = await load_run(log, run_id)
        with Screen(err(), run_id) as screen:
            run = await follow_run(log, run, screen.show, timeout, patience)
        rewards = await load_rewards(log, run)
        warn_unreadable(err(), log.unreadable)
        return summarize_run(run, rewards)
