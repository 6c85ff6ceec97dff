"""`odradek-nemo-gym-server FOLDER`: a resources server for as long as this command runs."""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from odradek_nemo_gym.server import START_SECONDS, GymServer, ServerError, running


def main() -> None:
    """Starts the server, prints its URL, and ends it when it is told to end itself."""
    arguments = _parser().parse_args()
    try:
        code = asyncio.run(_serve(arguments))
    except ServerError as error:
        sys.exit(f"odradek-nemo-gym-server: {error}")
    sys.exit(code)


async def _serve(arguments: argparse.Namespace) -> int:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    overrides = dict(arguments.set or ())
    starting = asyncio.create_task(
        GymServer.start(arguments.folder, arguments.python, overrides, arguments.seconds, arguments.port)
    )
    ending = asyncio.create_task(told.wait())
    await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
        return 0
    async with running(starting.result()) as server:
        print(server.url, flush=True)
        serving = asyncio.create_task(server.wait())
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
        if told.is_set():
            return 0
        raise ServerError(f"the server ended by itself, exit code {serving.result()}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="odradek-nemo-gym-server", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="a resources server's: the one with its app.py")
    parser.add_argument(
        "--python", type=Path, help="the Python that has NeMo Gym; by default .venv/bin/python of the folder"
    )
    parser.add_argument("--port", type=int, default=0, help="by default one that is free")
    parser.add_argument(
        "--set",
        type=_setting,
        action="append",
        metavar="KEY=VALUE",
        help="laid over the server's configuration",
    )
    parser.add_argument(
        "--seconds", type=float, default=START_SECONDS, help="the longest that its start may take"
    )
    return parser


def _setting(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
