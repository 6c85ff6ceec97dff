"""`env`: where the deployment is, for programs of one's own."""

import shlex

import typer

from odradek_cli.deployment import find_deployment


def register(app: typer.Typer) -> None:
    app.command()(env)


def env() -> None:
    """Print the settings by which other programs, such as trainers, find this deployment, as a shell reads them.

    Examples: `odradek env`, `eval "$(odradek env)"`
    """
    deployment = find_deployment()
    for name, value in (
        ("BOOTSTRAP_SERVERS", deployment.brokers),
        ("TOPIC_PREFIX", deployment.prefix),
        ("PARTITIONS", deployment.partitions),
        ("BLOB_STORE", deployment.blob_store),
    ):
        print(f"export ODRADEK_{name}={shlex.quote(str(value))}")
