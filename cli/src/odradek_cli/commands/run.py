"""`run`: a data set checked, a run asked for and watched."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from odradek.environment import Environment
from odradek.plugins import load_environment, load_harness
from odradek_cli.assignments import read_assignments
from odradek_cli.commands.options import Json
from odradek_cli.commands.watch import Interrupt, OnInterrupt, Patience, watch_to_the_end
from odradek_cli.datasets import Checked, check_rows, read_file
from odradek_cli.deployment import Deployment, find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.output import note, print_json, say
from odradek_cli.render import bad_rows_text
from odradek_cli.requests import request_run
from odradek_cli.run_ids import new_run_id
from odradek_cli.watching import PATIENCE_SECONDS
from odradek_schemas.events import Dataset, RunRequested
from odradek_schemas.messages import Sampling
from odradek_schemas.rollouts import Limits

MOST_SAMPLES = 10_000
MOST_CONCURRENCY = 100_000
"""A typing error beyond; no deployment keeps more rollouts in memory."""


def register(app: typer.Typer) -> None:
    app.command()(run)


def run(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="The environment; see `odradek list`.")],
    model: Annotated[str, typer.Option(help="A model of the stack, by name.")],
    input_file: Annotated[
        Path | None,
        typer.Option("--input", help="Tasks as JSONL; without it, the environment's own examples."),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, max=MOST_SAMPLES, help="Rollouts of each task.")] = 1,
    concurrency: Annotated[
        int, typer.Option(min=1, max=MOST_CONCURRENCY, help="Most unfinished rollouts at any time.")
    ] = 64,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks.")] = None,
    demand: Annotated[
        int | None,
        typer.Option(
            min=0, help="Admit so many rollouts, and more as a trainer asks for them; without it, all."
        ),
    ] = None,
    harness: Annotated[str | None, typer.Option(help="Another harness than the environment's.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="Sampling temperature.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of one reply.")] = None,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Most model calls of one rollout.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of the environment; VALUE is JSON, or text."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the run: of its sessions and its sampling.")] = 0,
    detach: Annotated[bool, typer.Option("--detach", help="Return when the run is requested.")] = False,
    patience: Patience = PATIENCE_SECONDS,
    on_interrupt: Interrupt = OnInterrupt.ASK,
    json: Json = False,
) -> None:
    """Play a data set: check it, start the run, watch it, print its results.

    Example: `odradek run mcqa --input tasks.jsonl --model smollm2 --samples 4`
    """
    settings = read_assignments(set_ or [])
    plugin = load_environment(environment, settings)
    if harness is not None:
        load_harness(harness)
    path = input_file or plugin.examples()
    checked = _checked(plugin, path, limit)
    deployment = find_deployment()
    _require_model(deployment, model)
    run_id = new_run_id(environment, datetime.now().astimezone())
    request = RunRequested(
        id=run_id,
        run_id=run_id,
        environment=environment,
        dataset=Dataset(uri=path.absolute().as_uri(), name=path.name),
        model=model,
        harness=harness,
        samples=samples,
        limit=limit,
        concurrency=concurrency,
        demand=demand,
        seed=seed,
        settings=settings,
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        limits=Limits() if max_turns is None else Limits(max_turns=max_turns),
    )
    _ask(deployment, request, checked.content)
    note(f"{run_id}: {checked.rows} tasks, {checked.rows * samples} rollouts of {environment} with {model}")
    if detach:
        _tell_detached(run_id, json)
    else:
        watch_to_the_end(deployment, run_id, on_interrupt, json, patience=patience)


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
            f"`odradek down`, then `odradek up --model {model}=URL` adds it",
        )


def _ask(deployment: Deployment, request: RunRequested, content: bytes) -> None:
    try:
        asyncio.run(request_run(deployment, request, content))
    except KeyboardInterrupt:
        note(f"interrupted; `odradek watch {request.run_id}` knows whether the run was asked for")
        raise typer.Exit(Exit.INTERRUPTED) from None


def _tell_detached(run_id: str, json: bool) -> None:
    if json:
        print_json({"run_id": run_id})
    else:
        say(run_id)
        note(f"it goes on by itself: `odradek watch {run_id}`, `odradek results {run_id}`")
