"""`run`, `watch`, `runs`, `cancel`: asking for runs and following them."""

import asyncio
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from odradek.environment import Environment
from odradek.plugins import load_environment, load_harness
from odradek_cli.datasets import Checked, check_rows, read_file
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import SCAN_SECONDS, open_log, send
from odradek_cli.output import err, out, print_json
from odradek_cli.render import bad_rows_text, runs_table, summary_view, warn_unreadable
from odradek_cli.run_ids import new_run_id
from odradek_cli.runs import Run, load_rewards, load_run, load_runs
from odradek_cli.summary import RunSummary, as_json, summarize_run
from odradek_cli.watching import Screen, follow_run
from odradek_runtime.blobs import blob_uri, open_blob_store
from odradek_schemas.events import Dataset, RunCancelRequested, RunRequested, RunStatus
from odradek_schemas.messages import Sampling
from odradek_schemas.rollouts import Limits
from odradek_schemas.topics import RUNS


class OnInterrupt(StrEnum):
    """What Ctrl-C does to a run that is watched."""

    ASK = "ask"
    DETACH = "detach"
    CANCEL = "cancel"


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to read the log for, at most.")]
Interrupt = Annotated[
    OnInterrupt,
    typer.Option(
        help="What Ctrl-C does: let the run go on, cancel it, or ask (on a terminal; elsewhere: detach)."
    ),
]


def register(app: typer.Typer) -> None:
    app.command()(run)
    app.command()(watch)
    app.command()(runs)
    app.command()(cancel)


def run(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="The environment; see `odradek list`.")],
    model: Annotated[str, typer.Option(help="A model of the stack, by name.")],
    input_file: Annotated[
        Path | None,
        typer.Option("--input", help="Tasks as JSONL; without it, the environment's own examples."),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Rollouts of each task.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Most unfinished rollouts at any time.")] = 64,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks.")] = None,
    harness: Annotated[str | None, typer.Option(help="Another harness than the environment's.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="Sampling temperature.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of one reply.")] = None,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Most model calls of one rollout.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the run: of its sessions and its sampling.")] = 0,
    detach: Annotated[bool, typer.Option("--detach", help="Return when the run is requested.")] = False,
    on_interrupt: Interrupt = OnInterrupt.ASK,
    json: Json = False,
) -> None:
    """Play a data set: check it, start the run, watch it, print its results.

    Example: `odradek run mcqa --input tasks.jsonl --model smollm2 --samples 4`
    """
    plugin = load_environment(environment)
    if harness is not None:
        load_harness(harness)
    path = input_file or plugin.examples()
    checked = _checked(plugin, path, limit)
    deployment = find_deployment()
    _require_model(deployment, model)
    request = RunRequested(
        id=(run_id := new_run_id(environment, datetime.now().astimezone())),
        run_id=run_id,
        environment=environment,
        dataset=Dataset(uri="blob:", name=path.name),
        model=model,
        harness=harness,
        samples=samples,
        limit=limit,
        concurrency=concurrency,
        seed=seed,
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        limits=Limits() if max_turns is None else Limits(max_turns=max_turns),
    )
    err().print(
        f"{run_id}: {checked.rows} tasks x {samples} samples of {environment} with {model}", markup=False
    )
    try:
        asyncio.run(_request(deployment, request, checked.content))
    except KeyboardInterrupt:
        err().print(
            f"interrupted; `odradek watch {run_id}` knows whether the run was asked for", markup=False
        )
        raise typer.Exit(Exit.INTERRUPTED) from None
    if detach:
        _tell_detached(run_id, json)
        return
    _watch_to_the_end(deployment, run_id, on_interrupt, json)


def watch(
    run_id: Annotated[str, typer.Argument(metavar="RUN")],
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds to watch for, at most; else the run's own deadline.")
    ] = None,
    on_interrupt: Interrupt = OnInterrupt.ASK,
    json: Json = False,
) -> None:
    """Follow a run live until it ends, then print its results.

    Example: `odradek watch mcqa-1129-194512-x7`
    """
    _watch_to_the_end(find_deployment(), run_id, on_interrupt, json, timeout)


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
        err().print("no run yet: `odradek run ENV --model NAME` starts one", markup=False)


def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "cancelled by hand",
) -> None:
    """Cancel a run: no more rollouts start, those under way are stopped; all rewards so far are kept.

    Example: `odradek cancel mcqa-1129-194512-x7`
    """
    run = asyncio.run(_cancel(find_deployment(), run_id, reason))
    if run.finished:
        out().print(f"{run_id} had already ended: {run.finished.status}", markup=False)
    else:
        out().print(f"{run_id}: asked to stop; `odradek watch {run_id}` shows when it has", markup=False)


def _checked(environment: Environment, path: Path, limit: int | None) -> Checked:
    checked = check_rows(environment, read_file(path), limit)
    if checked.bad:
        raise CliError(
            f"{len(checked.bad)} of {checked.rows} rows of {path} do not fit {environment.name}\n"
            + bad_rows_text(checked.bad, path.name),
            Exit.INVALID_INPUT,
            f"mend them and see `odradek validate {path}`; nothing was started",
        )
    if not checked.rows:
        raise CliError(f"{path} holds no rows", Exit.INVALID_INPUT)
    return checked


def _require_model(deployment: Deployment, model: str) -> None:
    if deployment.models is not None and model not in deployment.models:
        raise CliError(
            f"the stack has no model {model!r}, only {', '.join(deployment.models) or 'none'}",
            Exit.INVALID_INPUT,
            f"`odradek down` and `odradek up --model {model}=URL` adds it",
        )


async def _request(deployment: Deployment, request: RunRequested, content: bytes) -> None:
    """Upload the data set, then ask for the run: in this order, so that who reads the request finds the data."""
    async with open_log(deployment) as log:
        reference = await open_blob_store(deployment.blob_store).put(content)
        dataset = Dataset(uri=blob_uri(reference), name=request.dataset.name)
        await send(log, RUNS, request.model_copy(update={"dataset": dataset, "time": datetime.now(UTC)}))


def _tell_detached(run_id: str, json: bool) -> None:
    if json:
        print_json({"run_id": run_id})
    else:
        out().print(run_id, markup=False)
        err().print(
            f"it goes on by itself: `odradek watch {run_id}`, `odradek results {run_id}`", markup=False
        )


def _watch_to_the_end(
    deployment: Deployment, run_id: str, on_interrupt: OnInterrupt, json: bool, timeout: float | None = None
) -> None:
    """Watch, act on Ctrl-C as asked, print the results, and exit by how the run ended."""
    while True:
        try:
            summary = asyncio.run(_watch(deployment, run_id, timeout))
            break
        except KeyboardInterrupt:
            if _interrupted(on_interrupt) is OnInterrupt.DETACH:
                err().print(f"detached; {run_id} goes on: `odradek watch {run_id}`", markup=False)
                raise typer.Exit(Exit.INTERRUPTED) from None
            asyncio.run(_cancel(deployment, run_id, "interrupted"))
            err().print("cancelling; what was done is kept (Ctrl-C again: detach)", markup=False)
            on_interrupt = OnInterrupt.DETACH
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


def _interrupted(on_interrupt: OnInterrupt) -> OnInterrupt:
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


async def _watch(deployment: Deployment, run_id: str, timeout: float | None) -> RunSummary:
    async with open_log(deployment) as log:
        run = await load_run(log, run_id)
        if not run.finished:
            with Screen(err(), run_id) as screen:
                run = await follow_run(log, run, screen.show, timeout)
        rewards = await load_rewards(log, run)
        warn_unreadable(err(), log.unreadable)
        return summarize_run(run, (found.event for found in rewards))


async def _load_runs(deployment: Deployment, within: float) -> list[Run]:
    async with open_log(deployment) as log:
        found = await load_runs(log, within)
        warn_unreadable(err(), log.unreadable)
        return found


async def _cancel(deployment: Deployment, run_id: str, reason: str) -> Run:
    async with open_log(deployment) as log:
        run = await load_run(log, run_id)
        if not run.finished:
            await send(log, RUNS, RunCancelRequested(id=run_id, run_id=run_id, reason=reason))
        return run


def _run_json(run: Run) -> dict[str, object]:
    last = run.last
    return {
        "run_id": run.id,
        "environment": run.request.environment,
        "model": run.request.model,
        "dataset": run.request.dataset.name,
        "requested_at": run.request.time.isoformat(),
        "status": run.status,
        "planned": last.planned if last else None,
        "admitted": last.admitted if last else None,
        "finished": last.counts.finished if last else None,
        "masked": last.counts.masked if last else None,
        "mean_reward": last.counts.mean_reward if last else None,
    }
