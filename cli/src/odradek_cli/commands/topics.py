"""`topics apply`, `topics diff`: the deployment's topics as they must be."""

import asyncio
from dataclasses import replace
from typing import Annotated

import typer

from odradek_cli.commands.options import Json
from odradek_cli.deployment import Deployment, find_deployment, from_environment
from odradek_cli.errors import Exit
from odradek_cli.output import print_json, say
from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import Difference, apply_topics, diff_topics

Bootstrap = Annotated[
    str | None, typer.Option(help="Kafka's host:port,...; else ODRADEK_BOOTSTRAP_SERVERS or the local stack.")
]
Prefix = Annotated[str | None, typer.Option(help="Put before each topic; else ODRADEK_TOPIC_PREFIX.")]
Partitions = Annotated[
    int | None, typer.Option(min=1, help="Partitions of each topic; else ODRADEK_PARTITIONS.")
]


def register(app: typer.Typer) -> None:
    topics = typer.Typer(
        no_args_is_help=True, help="Create the topics, or compare them with what is declared."
    )
    topics.command()(apply)
    topics.command()(diff)
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
    if differences:
        raise typer.Exit(Exit.SOMETHING_MISSING)


def _deployment(bootstrap: str | None, prefix: str | None, partitions: int | None) -> Deployment:
    found = find_deployment() if bootstrap is None else from_environment()
    return replace(
        found,
        brokers=Brokers(bootstrap) if bootstrap else found.brokers,
        prefix=found.prefix if prefix is None else prefix,
        partitions=partitions or found.partitions,
    )


def _show(differences: list[Difference], json: bool, what: str) -> None:
    if json:
        print_json(
            [{"topic": d.topic, "what": d.what, "found": d.found, "wanted": d.wanted} for d in differences]
        )
    elif not differences:
        say("all topics are as declared")
    for difference in [] if json else differences:
        say(f"{what}: {difference}")
