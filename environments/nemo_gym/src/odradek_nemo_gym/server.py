"""A resources server in a process of its own, by NeMo Gym's Python, that ends with the process which started it."""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import ClientError, ClientSession, ClientTimeout

from odradek import JsonObject
from odradek_nemo_gym import starting

START_SECONDS = 120.0
"""NeMo Gym's imports alone may take half a minute."""
_LOOK_SECONDS = 0.2
_ANSWER_SECONDS = 2.0
_END_SECONDS = 5.0
_STDERR = 2


class ServerError(Exception):
    """A server can't be started; says what to do."""


class GymServer:
    """A server that answers at `url`."""

    def __init__(self, url: str, process: asyncio.subprocess.Process) -> None:
        self.url = url
        self._process = process

    @classmethod
    async def start(
        cls,
        folder: Path,
        python: Path | None = None,
        overrides: JsonObject | None = None,
        seconds: float = START_SECONDS,
        port: int = 0,
    ) -> "GymServer":
        """Start the server of a folder (`app.py`, `configs/`) and wait until it answers.

        To be called where the thread lives as long as the process: the kernel ends the server with that thread.

        Raises:
            ServerError: there is no such server or no Python for it, it ended, or did not answer in time.
        """
        port = port or _free_port()
        process = await asyncio.create_subprocess_exec(
            *(python_of(folder, python), starting.__file__, str(os.getpid()), str(port), str(folder)),
            json.dumps(overrides or {}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=_STDERR,
            env=_environment(),
        )
        server = cls(f"http://{starting.HOST}:{port}", process)
        try:
            await server._answers(time.monotonic() + seconds)
        except BaseException:
            await server.end()
            raise
        return server

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def wait(self) -> int:
        """Its exit code, when it ends."""
        return await self._process.wait()

    async def end(self) -> None:
        """End it, by force where it takes its time."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _answers(self, until: float) -> None:
        async with ClientSession(timeout=ClientTimeout(total=_ANSWER_SECONDS)) as client:
            while not await self._is_there(client):
                if self.has_ended:
                    raise ServerError(
                        f"the server ended at its start, exit code {self._process.returncode}: what it said is above"
                    )
                if time.monotonic() >= until:
                    raise ServerError(
                        "the server did not answer in time; give it more, or see what it said above"
                    )
                await asyncio.sleep(_LOOK_SECONDS)

    async def _is_there(self, client: ClientSession) -> bool:
        """Any answer will do: not every server has the newest routes."""
        try:
            async with client.get(f"{self.url}/openapi.json"):
                return True
        except (ClientError, TimeoutError):
            return False


@asynccontextmanager
async def running(server: GymServer) -> AsyncIterator[GymServer]:
    """A server that is ended at the end."""
    try:
        yield server
    finally:
        await server.end()


def python_of(folder: Path, python: Path | None) -> str:
    """The Python that has NeMo Gym: the one named, else the virtual environment that NeMo Gym makes in the folder.

    Raises:
        ServerError: there is none, or no folder.
    """
    if not folder.is_dir():
        raise ServerError(f"{folder} is no folder: name a resources server's, the one with its app.py")
    found = python or folder / ".venv" / "bin" / "python"
    if not found.is_file():
        raise ServerError(
            f"no Python at {found}: name one that has nemo-gym and the server's requirements installed (python)"
        )
    return str(found)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind((starting.HOST, 0))
        return int(listening.getsockname()[1])


def _environment() -> dict[str, str]:
    """This process's, less what is meant for its own Python, and less where its secrets lie."""
    own = ("PYTHON", "VIRTUAL_ENV", "ODRADEK_")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}
