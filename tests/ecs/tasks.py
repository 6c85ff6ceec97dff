"""A task definition's containers in Docker, as Fargate would start them: volumes that belong to root, `prepare` first,
secrets as environment variables of the containers that name them, the users and capabilities that it says."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COMMAND_SECONDS = 180.0
"""More than a task has to stop in."""


def docker(*words: str, fails: bool = False) -> str:
    """What a command of Docker prints on stdout. Raises AssertionError when it fails, unless it may."""
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
    )
    assert fails or done.returncode == 0, f"docker {' '.join(words)[:2000]}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True)
class Surroundings:
    """What AWS gives: a network, the secrets' values by ARN, and credentials and endpoints as variables.

    `here` begins the names of all that is made; `images` is what stands for the registry's name, `tag` for the version.
    """

    here: str
    network: str
    images: str
    tag: str
    secrets: Mapping[str, str]
    variables: Mapping[str, str]


class Task:
    """A task, with the containers `prepare` and the service's own."""

    def __init__(self, definition: Mapping[str, Any], around: Surroundings) -> None:
        self._around = around
        self.preparing, self.serving = definition["containerDefinitions"]
        self._name = f"{around.here}-{self.serving['name']}"
        self._volumes = {volume["name"]: f"{self._name}-{volume['name']}" for volume in definition["volumes"]}

    def start(self) -> str:
        """Start it, and return the id of the service's container. `prepare` has ended well by then."""
        for volume in self._volumes.values():
            docker("volume", "create", volume)
        docker("run", "--rm", *self._options(self.preparing), *self._last(self.preparing))
        detached = ["run", "--detach", "--name", self._name, "--init", "--network", self._around.network]
        return docker(*detached, *self._options(self.serving), *self._last(self.serving))

    def remove(self) -> None:
        docker("rm", "--force", self._name, fails=True)
        docker("volume", "rm", "--force", *self._volumes.values(), fails=True)

    def logs(self) -> str:
        """What the service's container has said."""
        asked = ["docker", "logs", "--tail", "40", self._name]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        return done.stdout + done.stderr

    def is_well(self) -> bool:
        """What ECS's health check says."""
        command: Sequence[str] = self.serving["healthCheck"]["command"]
        assert command[0] == "CMD"
        asked = ["docker", "exec", self._name, *command[1:]]
        return (
            subprocess.run(asked, capture_output=True, timeout=COMMAND_SECONDS, check=False).returncode == 0
        )

    def shell(self, line: str) -> tuple[int, str]:
        """What a line of sh in the service's container says, and its exit code."""
        asked = ["docker", "exec", self._name, "sh", "-c", line]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        return done.returncode, done.stdout + done.stderr

    def _options(self, container: Mapping[str, Any]) -> list[str]:
        words = [
            "--user",
            container["user"],
            *(["--read-only"] if container["readonlyRootFilesystem"] else []),
        ]
        for capability in container["linuxParameters"]["capabilities"]["drop"]:
            words += ["--cap-drop", capability]
        for mount in container["mountPoints"]:
            mode = "ro,nocopy" if mount["readOnly"] else "nocopy"
            words += ["--volume", f"{self._volumes[mount['sourceVolume']]}:{mount['containerPath']}:{mode}"]
        for name, value in self._environment(container).items():
            words += ["--env", f"{name}={value}"]
        return words

    def _environment(self, container: Mapping[str, Any]) -> dict[str, str]:
        plain = {one["name"]: one["value"] for one in container.get("environment", ())}
        secret = {one["name"]: self._around.secrets[one["valueFrom"]] for one in container["secrets"]}
        return {**plain, **secret, **self._around.variables}

    def _last(self, container: Mapping[str, Any]) -> list[str]:
        """The image and what it runs. Docker takes one word as entry point; what follows goes before the command."""
        target = container["image"].rsplit("/", 1)[-1].rsplit(":", 1)[0]
        image = f"{self._around.images}/{target}:{self._around.tag}"
        entry: list[str] = container.get("entryPoint", [])
        command: list[str] = container.get("command", [])
        return [*(["--entrypoint", entry[0]] if entry else []), image, *entry[1:], *command]
