"""`odradek-ecs`: plan, up, status, down."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.table import Table

from odradek_ecs.aws import Aws, DeployError
from odradek_ecs.config import Config, ConfigError, notes, read_config
from odradek_ecs.names import SERVICES, Names
from odradek_ecs.preflight import look_around
from odradek_ecs.progress import Standing, standings, wait_until_well
from odradek_ecs.settle import Action, Change, settle
from odradek_ecs.stack import steps
from odradek_ecs.teardown import remove_all

CONFIG_EXIT = 4
ERROR_EXIT = 1
UNWELL_EXIT = 3

app = typer.Typer(
    name="odradek-ecs",
    no_args_is_help=True,
    add_completion=False,
    help="Odradek on Amazon ECS (docs/ecs.md).",
)

ConfigFile = Annotated[
    Path, typer.Option("--config", help="What the deployment is, such as deploy/ecs/example.toml.")
]


@app.command()
def plan(config: ConfigFile) -> None:
    """Say what `up` would do, and change nothing."""
    of = _read(config)
    aws = _aws(of)
    found = [_say(change) for change in settle(steps(of, look_around(of, aws)), aws, dry=True)]
    print("would be done" if any(found) else "nothing to do")


@app.command()
def up(
    config: ConfigFile, wait: Annotated[bool, typer.Option(help="Wait until all services are well.")] = True
) -> None:
    """Make the deployment as the file says, or make it so again. What is as it should be is left alone."""
    of = _read(config)
    aws = _aws(of)
    place = look_around(of, aws)
    done = [_say(change) for change in settle(steps(of, place), aws)]
    if wait:
        definitions = aws.client("ecs").describe_task_definition
        newest = {name: definitions(taskDefinition=aws.names.of(name))["taskDefinition"] for name in SERVICES}
        wait_until_well(aws, {name: one["taskDefinitionArn"] for name, one in newest.items()})
    print("nothing to do" if not any(done) else "done")


@app.command()
def status(config: ConfigFile) -> None:
    """Show each service: what it runs, how many, how its last change went. Exit code 3 when one is not well."""
    found = standings(_aws(_read(config)))
    _show(found)
    if not all(one.is_well for one in found):
        raise typer.Exit(UNWELL_EXIT)


@app.command()
def down(config: ConfigFile, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Remove all that `up` made. Kafka's topics, the blobs, secrets and images stay, so no work is lost."""
    of = _read(config)
    if not yes:
        typer.confirm(f"Remove deployment {of.deployment} from {of.region}?", abort=True)
    done = [_say(change) for change in remove_all(_aws(of))]
    print("done" if done else "nothing to do")


def main() -> None:
    try:
        app()
    except ConfigError as error:
        _end(str(error), CONFIG_EXIT)
    except DeployError as error:
        _end(str(error), ERROR_EXIT)
    except (BotoCoreError, ClientError) as error:
        _end(f"AWS: {error}", ERROR_EXIT)


def _end(said: str, code: int) -> None:
    for line in said.splitlines():
        print(f"error: {line}", file=sys.stderr)
    sys.exit(code)


def _read(path: Path) -> Config:
    config = read_config(path)
    for note in notes(config):
        print(f"note: {note}", file=sys.stderr)
    return config


def _aws(config: Config) -> Aws:
    return Aws(config.region, Names(config.deployment))


def _say(change: Change) -> bool:
    """Print a change; whether there was one."""
    if change.action is Action.KEEP:
        return False
    print(f"{change.action:7} {change.kind} {change.name}", flush=True)
    return True


def _show(found: list[Standing]) -> None:
    table = Table("service", "state", "revision", "desired", "running", "pending", "reason", box=None)
    for one in found:
        counts = map(str, (one.desired, one.running, one.pending))
        table.add_row(one.name, one.state, one.revision, *counts, one.reason)
    Console().print(table)
