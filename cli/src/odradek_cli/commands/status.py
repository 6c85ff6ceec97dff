"""`status`: the local stack, its workers, and what unfinished rollouts wait for."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from odradek_cli import local
from odradek_cli.commands.options import Json, Timeout
from odradek_cli.deployment import Deployment, try_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import open_log
from odradek_cli.live import pictures
from odradek_cli.live_screen import JsonLines, LiveScreen
from odradek_cli.output import err, out, print_json
from odradek_cli.render import facts, listing, status_text, warn_unreadable
from odradek_cli.runs import Run, load_run
from odradek_cli.standing import Standing
from odradek_cli.standing_view import as_json, standing_view
from odradek_cli.survey import STANDING_SECONDS, look_around

if TYPE_CHECKING:
    from odradek_local.state import StackState


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Of this run only.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="The longest waits, so many.")] = 10,
    timeout: Timeout = STANDING_SECONDS,
    watch: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=0.2, help="With --watch: seconds between two looks.")] = 2.0,
    json: Json = False,
) -> None:
    """Show how work stands: the local stack, the workers, what rollouts wait for and since when, stalled partitions.

    It is read from the log, so it is told even when every worker is dead. Exit code 3 when no stack runs, or Kafka
    does not answer. With --watch the pools' rates, the progress of runs and (of a local stack) the models are shown, too;
    with --json each look is one line. Kafka may be away meanwhile.

    Examples: `odradek status`, `odradek status mcqa-1129-194512-x7 --json`, `odradek status --watch`
    """
    if watch:
        _watch(run_id, limit, timeout, every, json)
        return
    state, deployment = _found()
    told: dict[str, Any] = state.model_dump(mode="json") if state else {}
    views = list(stack_view(state)) if state and run_id is None else []
    problem: CliError | None = None
    if deployment is None:
        problem = _not_up(state)
    else:
        try:
            run, standing = asyncio.run(_look(deployment, run_id, limit, timeout))
        except CliError as error:
            problem = error
        else:
            told |= _as_json(run, standing)
            views += [*_run_view(run), *standing_view(standing)]
    if json:
        print_json(told)
    elif views:
        out().print(*views, sep="\n")
    if problem:
        raise problem


def _found() -> tuple["StackState | None", Deployment | None]:
    """The local stack, unless the environment names another deployment, and the deployment, where one runs."""
    deployment = try_deployment()
    state = None if deployment and not deployment.local else local.stack_state()
    if state is None and deployment is None:
        raise CliError("no stack is running", Exit.NO_STACK, "`odradek up` starts one")
    return state, deployment


async def _look(
    deployment: Deployment, run_id: str | None, limit: int, within: float
) -> tuple[Run | None, Standing]:
    async with open_log(deployment) as log:
        run = await load_run(log, run_id, within) if run_id else None
        standing = await look_around(log, run_id, limit, within)
        warn_unreadable(err(), log.unreadable)
        return run, standing


def stack_view(state: "StackState") -> Iterator[RenderableType]:
    """The local stack for a person to read."""
    yield facts(
        [
            ("stack", status_text(str(state.status))),
            ("kafka", f"{state.bootstrap}, {state.partitions} partitions, prefix {state.topic_prefix!r}"),
            ("blobs", state.blob_store),
            ("gateway", f"{state.gateway_url}, for agent programs"),
            ("models", ", ".join(sorted(state.models)) or "none"),
        ]
    )
    for remark in [*state.notes, *([state.error] if state.error else []), *state.scale_errors.values()]:
        yield Text(remark, style="yellow")
    if state.parts:
        table = listing("PART", "STATUS", "PID", "PORT", "RESTARTS", "LOG")
        for part in state.parts:
            row = (str(part.pid), str(part.port), str(part.restarts), str(part.log))
            table.add_row(part.name, status_text(str(part.status)), *row)
        yield table


def _run_view(run: Run | None) -> Iterator[RenderableType]:
    if run is None:
        return
    last = run.last
    done = f", {last.counts.finished} of {last.planned} finished, {last.admitted} admitted" if last else ""
    yield Text.assemble(("run ", "dim"), (run.id, "bold"), f": {run.status}{done}")


def _as_json(run: Run | None, standing: Standing) -> dict[str, Any]:
    return {"run": {"run_id": run.id, "status": run.status} if run else None, **as_json(standing)}


def _watch(run_id: str | None, limit: int, within: float, every: float, json: bool) -> None:
    """Until Ctrl-C, which is how it ends well."""
    screen = JsonLines() if json else LiveScreen(out())
    with suppress(KeyboardInterrupt), screen:
        asyncio.run(_show(screen, run_id, limit, within, every))


async def _show(
    screen: JsonLines | LiveScreen, run_id: str | None, limit: int, within: float, every: float
) -> None:
    async with aclosing(pictures(_deployment, run_id, limit, within, every)) as looks:
        async for picture in looks:
            screen.show(picture)


def _deployment() -> Deployment:
    state, deployment = _found()
    if deployment is None:
        raise _not_up(state)
    return deployment


def _not_up(state: "StackState | None") -> CliError:
    return CliError(f"the stack is {state and state.status}", Exit.NO_STACK, "`odradek up` starts it")
