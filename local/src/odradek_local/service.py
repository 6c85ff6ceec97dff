"""One of the five services as a child process, started by its console script."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from odradek_local.health import answers_http, until_healthy
from odradek_local.process import Process, ProcessError

SECRETS = (
    "ODRADEK_SEALING_PUBLIC_KEY_FILE",
    "ODRADEK_SEALING_PRIVATE_KEY_FILE",
    "ODRADEK_ACCESS_SECRET_FILE",
    "ODRADEK_MODELS",
    "ODRADEK_REDIS_URL",
)


@dataclass(frozen=True)
class Needs:
    """What a service gets besides what all get."""

    name: str
    public_key: bool = False
    private_key: bool = False
    models: bool = False
    access_secret: bool = False
    flights: bool = False

    @property
    def command(self) -> str:
        return f"odradek-{self.name}"


SERVICES = (
    Needs("task-producer", public_key=True),
    Needs("agent-worker"),
    Needs("env-worker", public_key=True, private_key=True, access_secret=True, flights=True),
    Needs("verifier-worker", private_key=True),
    Needs("model-gateway", models=True, access_secret=True),
)


def name_of(pool: str, number: int) -> str:
    """What replica `number` of a pool is called here, from 0; the first has the pool's own name."""
    return f"{pool}-{number}" if number else pool


class Service:
    """A replica of a service, which says at `/readyz` on its port whether it is ready for work."""

    def __init__(self, needs: Needs, port: int, env: Mapping[str, str], log: Path, number: int = 0):
        self.pool = needs.name
        self.number = number
        self.name = name_of(needs.name, number)
        self.port = port
        self.process = Process(self.name, [str(script(needs.command))], log=log, env=env)

    def start(self) -> None:
        """Starts it; does not wait. Raises ProcessError when it is not installed."""
        command = Path(self.process.command[0])
        if not command.exists():
            raise ProcessError(f"{command} is not there: install odradek-{self.pool} beside {sys.executable}")
        self.process.start()

    async def healthy(self, deadline_s: float) -> None:
        """Waits until it is ready; raises ProcessError with the end of its log."""
        await until_healthy(self.process, lambda: answers_http(self.port, "/readyz"), deadline_s, self.port)

    def stop(self, grace_s: float = 15.0) -> None:
        """Lets it drain, for at most `grace_s` seconds."""
        self.process.stop(grace_s)


def script(command: str) -> Path:
    """A console script of the environment that this program runs in."""
    return Path(sys.executable).with_name(command)


def without(env: Mapping[str, str], names: set[str]) -> dict[str, str]:
    """The environment less what only some services may have: sealing keys, models and their API keys.

    How to log in to another Kafka is nothing for the local one.
    """
    return {
        key: value
        for key, value in env.items()
        if key not in names and key not in SECRETS and not key.startswith("ODRADEK_KAFKA_")
    }


def inherited(api_keys: set[str], needs: Needs) -> dict[str, str]:
    """This process's environment as a service may see it; `api_keys` are variables that only the gateway reads."""
    return without(os.environ, set() if needs.models else api_keys)
