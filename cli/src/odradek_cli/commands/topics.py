"""`topics apply`, `topics diff`, `topics grow`: the deployment's topics as they must be."""

import asyncio
from dataclasses import replace
from typing import Annotated

import typer

from odradek_cli.commands.options import Json
from odradek_cli.deployment import Deployment, find_deployment, from_environment
from odradek_cli.errors import CliError, Exit
from odradek_cli.output import note, print_json, say
from odradek_runtime.bounds import MOST_PARTITIONS
from odradek_runtime.brokers import Brokers, check_addresses
from odradek_runtime.groups import open_groups
from odradek_runtime.growing import Growth, check_layout, grow_topics, look_at_growth, read_layout
from odradek_runtime.topics import Difference, TopicError, apply_topics, diff_topics, repartitioning
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, VERIFIER

Bootstrap = Annotated[
    str | None, typer.Option(help="Kafka's host:port,...; else ODRADEK_BOOTSTRAP_SERVERS or the local stack.")
]
Prefix = Annotated[str | None, typer.Option(help="Put before each topic; else ODRADEK_TOPIC_PREFIX.")]
Partitions = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_PARTITIONS, help="Partitions of each topic; else ODRADEK_PARTITIONS."),
]

RESTART = (GATEWAY, VERIFIER, ENV, AGENT, PRODUCER)
"""In which order workers are told of added partitions: the task-producers, who use them, last."""


def register(app: typer.Typer) -> None:
    topics = typer.Typer(
        no_args_is_help=True,
        help="Create the topics, compare them with what is declared, or give them more partitions.",
    )
    topics.command()(apply)
    topics.command()(diff)
    topics.command()(grow)
    app.add_typer(topics, name="topics")


def apply(
    bootstrap: Bootstrap = None,
    prefix: Prefix = None,
    partitions: Partitions = None,
    replication_factor: Annotated[
        int, typer.Option(min=-1, help="Replicas of new topics; -1: the broker's default.")
    ] = -1,
    json: Json = False,
) -> None:
    """Create the topics that are missing and set what differs. The number of partitions is never changed.

    Example: `odradek topics apply --bootstrap kafka:9092 --partitions 16 --replication-factor 3`
    """
    to = _deployment(bootstrap, prefix, partitions)
    _show(
        asyncio.run(apply_topics(to.brokers, to.prefix, to.partitions, replication_factor)), json, "changed"
    )


def diff(
    bootstrap: Bootstrap = None, prefix: Prefix = None, partitions: Partitions = None, json: Json = False
) -> None:
    """Say how the topics differ from what is declared. Exit code 6 when they do.

    Example: `odradek topics diff`
    """
    of = _deployment(bootstrap, prefix, partitions)
    differences = asyncio.run(diff_topics(of.brokers, of.prefix, of.partitions))
    _show(differences, json, "differs")
    problem = repartitioning(differences, of.prefix, of.partitions)
    if not differences:
        problem = asyncio.run(_misplaced(of))
    if problem:
        note(problem)
    if differences or problem:
        raise typer.Exit(Exit.SOMETHING_MISSING)


def grow(
    partitions: Annotated[
        int, typer.Option(min=1, max=MOST_PARTITIONS, help="How many partitions each topic is to have.")
    ],
    bootstrap: Bootstrap = None,
    prefix: Prefix = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    json: Json = False,
) -> None:
    """Add partitions to the topics, while rollouts are played if need be: docs/scaling.md.

    Then every worker is to be started again with ODRADEK_PARTITIONS set to the new number, the task-producers last.
    What was cut short is finished by calling it again.

    Example: `odradek topics grow --partitions 16 --dry-run`
    """
    of = _deployment(bootstrap, prefix, None)
    work = look_at_growth if dry_run else grow_topics
    growth = asyncio.run(work(of.brokers, of.prefix, partitions))
    alive = asyncio.run(_alive(of))
    if json:
        print_json(_as_json(growth, partitions, alive))
        return
    verb = "would get" if dry_run else "has"
    for topic, before in growth.topics.items():
        say(f"{topic}: {verb} {partitions} partitions, had {before}")
    if growth.nothing:
        say(f"all topics have {partitions} partitions")
        return
    if not growth.topics:
        say("control would be told of it" if dry_run else "control was told of it")
    _say_next(of, partitions, alive)


async def _misplaced(of: Deployment) -> str | None:
    """What is wrong where all topics have as many partitions as they should, and the log says otherwise."""
    try:
        check_layout(await read_layout(of.brokers, of.names, of.partitions), of.partitions)
    except TopicError as error:
        return str(error)
    return None


async def _alive(of: Deployment) -> dict[str, int]:
    """How many workers of each kind there are, in the order in which they are to be started again."""
    async with open_groups(of.brokers, of.names) as groups:
        return {worker: len(await groups.members(worker)) for worker in RESTART}


def _as_json(growth: Growth, partitions: int, alive: dict[str, int]) -> dict[str, object]:
    return {
        "partitions": partitions,
        "counts": list(growth.layout.counts),
        "grown": [{"topic": topic, "from": before} for topic, before in growth.topics.items()],
        "restart": [{"worker": worker, "alive": members} for worker, members in alive.items()],
    }


def _say_next(of: Deployment, partitions: int, alive: dict[str, int]) -> None:
    if of.local:
        say(f"next: `odradek down`, then `odradek up --partitions {partitions}`")
        return
    workers = ", ".join(f"{worker} ({members} alive)" for worker, members in alive.items())
    say(f"next: set ODRADEK_PARTITIONS={partitions} and start again, in this order: {workers}")


def _deployment(bootstrap: str | None, prefix: str | None, partitions: int | None) -> Deployment:
    found = find_deployment() if bootstrap is None else from_environment()
    return replace(
        found,
        brokers=found.brokers if bootstrap is None else _brokers(bootstrap),
        prefix=found.prefix if prefix is None else prefix,
        partitions=partitions or found.partitions,
    )


def _brokers(bootstrap: str) -> Brokers:
    try:
        return Brokers(check_addresses(bootstrap))
    except ValueError as error:
        raise CliError(f"--bootstrap: {error}", Exit.USAGE) from error


def _show(differences: list[Difference], json: bool, what: str) -> None:
    if json:
        print_json(
            [{"topic": d.topic, "what": d.what, "found": d.found, "wanted": d.wanted} for d in differences]
        )
    elif not differences:
        say("all topics are as declared")
    for difference in [] if json else differences:
        say(f"{what}: {difference}")
