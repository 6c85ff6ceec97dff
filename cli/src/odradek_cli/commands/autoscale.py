"""`autoscale`: pools that grow and shrink with their load."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from odradek_cli.commands.options import Json
from odradek_cli.deployment import BOOTSTRAP_VARIABLE, Deployment, find_deployment
from odradek_cli.errors import CliError, Exit

EVERY_SECONDS = 2.0


def register(app: typer.Typer) -> None:
    app.command()(autoscale)


def autoscale(
    config: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Policies in TOML, a table [POOL] for each that differs."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="POOL.FIELD=VALUE", help="One setting, such as `env-worker.max=8`."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--pool", metavar="POOL", help="Scale this pool alone; may be given many times."),
    ] = None,
    every: Annotated[float, typer.Option(min=0.5, help="Seconds between two looks.")] = EVERY_SECONDS,
    docker: Annotated[
        bool, typer.Option("--docker", help="Scale the containers of a compose project.")
    ] = False,
    project: Annotated[str, typer.Option(help="The compose project, with --docker.")] = "odradek",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide, and change nothing.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
    json: Json = False,
) -> None:
    """Give each pool as many workers as its load asks for: a controller a pool, until interrupted.

    Pools are left as they are at the end. Each change of load or workers is a line; with `--json` each look is one.
    The local stack's supervisor has the workers, or with `--docker` the Docker engine; for Kubernetes and ECS see
    docs/scaling.md.

    Example: `odradek autoscale --set agent-worker.max=3 --set env-worker.min=0`
    """
    from odradek_cli import autoscaling as scaling  # here: its HTTP client takes long to import

    try:
        policies = scaling.chosen(config, settings or (), only or ())
    except scaling.PolicyError as error:
        raise CliError(str(error), Exit.USAGE) from error
    deployment = _scalable(find_deployment(), docker)
    try:
        whose = project if docker else None
        asyncio.run(scaling.autoscale(policies, deployment, whose, every, dry=dry_run, once=once, json=json))
    except scaling.DriverError as error:
        raise CliError(str(error), Exit.NO_STACK) from error
    except scaling.ScalingError as error:
        raise CliError(str(error), Exit.NO_STACK, "`odradek status` says how the stack is") from error


def _scalable(deployment: Deployment, docker: bool) -> Deployment:
    if not docker and not deployment.local:
        raise CliError(
            f"{BOOTSTRAP_VARIABLE} names a deployment whose workers are not this machine's local stack",
            Exit.USAGE,
            "with --docker it scales a compose project; on Kubernetes KEDA does, on ECS its own autoscaling",
        )
    return deployment
