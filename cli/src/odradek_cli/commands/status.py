"""`status`: the local stack, its workers, and what unfinished rollouts wait for."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from odradek_cli import local
from odradek_cli.attendance import DOES
from odradek_cli.commands.options import Json, Timeout
from odradek_cli.deployment import Deployment, try_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import open_log
from odradek_cli.output import err, out, print_json
from odradek_cli.progress import duration
from odradek_cli.render import counts_text, facts, listing, status_text, warn_unreadable
from odradek_cli.runs import Run, load_run
from odradek_cli.standing import Behind, Standing, Wait
from odradek_cli.survey import STANDING_SECONDS, look_around

if TYPE_CHECKING:
    from odradek_local.state import StackState


def register(app: typer.Typer) -> None:
    app.command()(status)


def status(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Of this run only.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="The longest waits, so many.")] = 10,
    timeout: Timeout = STANDING_SECONDS,
    json: Json = False,
) -> None:
    """Show how work stands: the local stack, the workers, what rollouts wait for and since when, stalled partitions.

    It is read from the log, so it is told even when every worker is dead. Exit code 3 when no stack runs, or Kafka
    does not answer.

    Examples: `odradek status`, `odradek status mcqa-1129-194512-x7 --json`
    """
    state, deployment = _found()
    told: dict[str, Any] = state.model_dump(mode="json") if state else {}
    views = list(stack_view(state)) if state and run_id is None else []
    problem: CliError | None = None
    if deployment is None:
        problem = CliError(f"the stack is {state and state.status}", Exit.NO_STACK, "`odradek up` starts it")
    else:
        try:
            run, standing = asyncio.run(_look(deployment, run_id, limit, timeout))
        except CliError as error:
            problem = error
        else:
            told |= _as_json(run, standing)
            views += [*_run_view(run), *_standing_view(standing)]
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


def _standing_view(standing: Standing) -> Iterator[RenderableType]:
    table = listing("WORKER", "ALIVE", "MEMBERS")
    for worker, members in standing.workers.items():
        alive = Text(str(len(members)), style="green" if members else "red")
        who = ", ".join(f"{member.client} on {member.host}" for member in members)
        table.add_row(worker, alive, Text(who or f"none: {DOES[worker]}"))
    yield table
    counts = {what: count for what, count in standing.counts.items() if count}
    yield Text(f"rollouts that wait: {counts_text(counts)}")
    if standing.waits:
        yield _waits_table(standing.waits)
    stalled = [behind for behind in standing.behind if behind.stalled]
    if stalled:
        yield _stalled_table(stalled)


def _waits_table(waits: tuple[Wait, ...]) -> RenderableType:
    table = listing("ROLLOUT", "WAITS FOR", "SINCE", "AGE", "DEADLINE IN", "WHO", "STATE")
    now = datetime.now(UTC)
    for wait in waits:
        left = "-" if wait.deadline is None else _left((wait.deadline - now).total_seconds())
        table.add_row(
            Text(wait.rollout_id),
            Text(f"{wait.kind} {wait.on.removeprefix(wait.rollout_id + '/')}"),
            f"{wait.since.astimezone():%H:%M:%S}",
            duration(max(0.0, (now - wait.since).total_seconds())),
            Text(left, style="red" if wait.overdue else ""),
            wait.who,
            Text(wait.state),
        )
    return table


def _left(seconds: float) -> str:
    return duration(seconds) if seconds >= 0 else f"overdue by {duration(-seconds)}"


def _stalled_table(stalled: list[Behind]) -> RenderableType:
    table = listing("STALLED", "PARTITION", "BEHIND", "OLDEST", "OWNER")
    for behind in stalled:
        place = f"{behind.topic}[{behind.partition}]"
        since = f"{behind.since.astimezone():%H:%M:%S}"
        owner = Text(behind.owner or "nobody", style="" if behind.owner else "red")
        table.add_row(behind.worker, place, str(behind.records), since, owner)
    return table


def _as_json(run: Run | None, standing: Standing) -> dict[str, Any]:
    return {
        "run": {"run_id": run.id, "status": run.status} if run else None,
        "workers": {
            worker: [{"client": m.client, "host": m.host, "partitions": sorted(m.numbers)} for m in members]
            for worker, members in standing.workers.items()
        },
        "waiting": standing.counts,
        "waits": [
            asdict(wait)
            | {
                "since": wait.since.isoformat(),
                "deadline": wait.deadline.isoformat() if wait.deadline else None,
                "overdue": wait.overdue,
            }
            for wait in standing.waits
        ],
        "stalled": [
            asdict(behind) | {"since": behind.since.isoformat()}
            for behind in standing.behind
            if behind.stalled
        ],
    }
