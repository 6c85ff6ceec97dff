"""`serve`: rewards over HTTP."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from odradek_cli.deployment import find_deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.output import note, say

if TYPE_CHECKING:
    from odradek_training.server import RewardServer

PORT = 8400


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    host: Annotated[str, typer.Option(help="Where to listen; there is no password.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: a free one.")] = PORT,
) -> None:
    """Serve groups of rewards to trainers that speak HTTP alone, until interrupted: `GET /v1/rewards/stream?run=RUN`.

    Example: `odradek serve --port 8400`, then `curl -N 'http://127.0.0.1:8400/v1/rewards/stream?run=RUN'`
    """
    from odradek_training import Deployment
    from odradek_training.server import RewardServer  # here: its HTTP server takes long to import

    found = find_deployment()
    deployment = Deployment(found.brokers.bootstrap, found.prefix, found.blob_store, found.brokers.security)
    asyncio.run(_serve(RewardServer(deployment, host, port)))


async def _serve(server: "RewardServer") -> None:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    try:
        await server.start()
    except OSError as error:
        raise CliError(
            f"can't listen there: {error.strerror or error}", Exit.ERROR, "choose another --port, or 0"
        ) from error
    say(server.url)
    note("serving rewards; Ctrl-C ends it")
    await told.wait()
    await server.stop()
