"""A stack of docker-compose.yml of its own: its project, its images and its ports are nobody else's."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odradek_local.ports import free_port
from tests.docker.preparing import ROOT

COMMAND_SECONDS = 300.0
BUILD_SECONDS = 900.0
PLAY_SECONDS = 600.0
LOOK_EVERY_SECONDS = 0.2
ODRADEK = Path(sys.executable).with_name("odradek")
IMAGES = f"odradek-test-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}"
"""In the place of `odradek`, as the images' first name: another checkout's tests build others."""


@dataclass(frozen=True)
class DockerStack:
    """`docker compose` with its variables, and the `odradek` of this machine beside it."""

    variables: dict[str, str]

    def compose(self, *arguments: str, seconds: float = COMMAND_SECONDS, **changes: str) -> str:
        """What a command of Compose prints on stdout. Raises AssertionError with stderr when it fails."""
        return self._run(["docker", "compose", *arguments], seconds, changes)

    def docker(self, *arguments: str) -> str:
        return self._run(["docker", *arguments], COMMAND_SECONDS, {})

    def odradek(self, *arguments: str) -> str:
        """What the command on this machine prints on stdout, by the settings that deploy/docker/host.sh prints."""
        line = f'eval "$({ROOT}/deploy/docker/host.sh)" && exec "$0" "$@"'
        return self._run(["bash", "-c", line, str(ODRADEK), *arguments], PLAY_SECONDS, {})

    def containers(self, service: str) -> list[str]:
        """The ids of a service's containers that run."""
        return self.compose("ps", "--quiet", "--status", "running", service).split()

    def inspect(self, container: str) -> dict[str, Any]:
        [found] = json.loads(self.docker("inspect", container))
        return dict(found)

    @property
    def bootstrap(self) -> str:
        """Kafka's address for this machine."""
        ports = [
            self.variables[name] for name in sorted(self.variables) if name.startswith("ODRADEK_KAFKA_PORT")
        ]
        return ",".join(f"127.0.0.1:{port}" for port in ports)

    def _run(self, command: list[str], seconds: float, changes: dict[str, str]) -> str:
        env = {**os.environ, **self.variables, **changes}
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def until(condition: Any, what: str, seconds: float = 90.0) -> None:
    """Wait for what `condition()` says. Raises AssertionError."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(LOOK_EVERY_SECONDS)


@contextmanager
def running_stack(data: Path, *files: str, brokers: int = 1) -> Iterator[DockerStack]:
    """Build it, start it, and take everything down again, whatever happens meanwhile."""
    stack = DockerStack(variables(data, files, brokers))
    try:
        stack.compose("up", "--detach", "--build", "--wait-timeout", "240", seconds=BUILD_SECONDS)
        yield stack
    except BaseException:
        print(stack.compose("ps", "--all"), stack.compose("logs", "--tail", "40", "--no-color"), sep="\n")
        raise
    finally:
        stack.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "10")


def remove_images() -> None:
    """Remove the images that were built for the tests; what they were built of stays in the cache."""
    listed = ["docker", "images", "--filter", f"reference={IMAGES}/*", "--format", "{{.Repository}}:{{.Tag}}"]
    names = subprocess.run(listed, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    if names:
        remove = ["docker", "image", "rm", "--force", *names]
        subprocess.run(remove, capture_output=True, timeout=COMMAND_SECONDS, check=True)


def variables(data: Path, files: tuple[str, ...], brokers: int) -> dict[str, str]:
    """The variables of .env; a .env that is there is not read."""
    parts = ["docker-compose.yml", *files, "tests/docker/scripted.yml"]
    variables = {
        "COMPOSE_PROJECT_NAME": f"{IMAGES}-{os.getpid()}-{brokers}",
        "COMPOSE_ENV_FILES": os.devnull,
        "COMPOSE_PROGRESS": "quiet",
        "ODRADEK_IMAGES": IMAGES,
        "ODRADEK_TAG": "test",
        "ODRADEK_DATA": str(data),
        "ODRADEK_MODELS_FILE": str(ROOT / "tests/docker/odradek.toml"),
        "ODRADEK_TEST_MODEL": str(ROOT / "tests/support/scripted_model.py"),
        "ODRADEK_CA_BUNDLE": os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE") or os.devnull,
    }
    if os.environ.get("ODRADEK_TEST_REGISTRY") == "no":
        parts.insert(1, "deploy/docker/no-registry.yml")
        variables |= {
            f"ODRADEK_{name.upper()}_IMAGE": f"{IMAGES}/{name}:test" for name in ("kafka", "valkey")
        }
    ports = ["ODRADEK_KAFKA_PORT", *(f"ODRADEK_KAFKA_PORT_{number}" for number in range(2, brokers + 1))]
    return variables | {"COMPOSE_FILE": ":".join(parts)} | {name: str(free_port()) for name in ports}
