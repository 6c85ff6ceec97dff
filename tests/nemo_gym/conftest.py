"""Real servers of the nemo-gym wheel, each started once, by the command that users start them with."""

import json
import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from odradek import JsonObject, Message
from odradek.dialects.nemo_gym import read_parameters
from odradek_nemo_gym import NemoGym
from tests.nemo_gym.installing import is_installed, python, servers

COMMAND = Path(sys.executable).with_name("odradek-nemo-gym-server")
START_SECONDS = 600
END_SECONDS = 30

Bridged = Callable[..., NemoGym]


@pytest.fixture(scope="session")
def bridged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridged]:
    """The environment at a real server: takes the server's name, and settings."""
    if not is_installed():
        pytest.skip("NeMo Gym is not installed: make test-nemo-gym")
    logs = tmp_path_factory.mktemp("nemo-gym")
    started: dict[str, tuple[subprocess.Popen[bytes], str]] = {}

    def bridge(name: str, **settings: object) -> NemoGym:
        if name not in started:
            started[name] = _start(name, logs / name)
        return NemoGym({"server_url": started[name][1], **settings})  # type: ignore[dict-item]

    yield bridge
    for process, _url in started.values():
        process.terminate()
    for process, _url in started.values():
        assert process.wait(END_SECONDS) == 0


def _start(name: str, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    command = [
        str(COMMAND),
        str(servers() / name),
        "--python",
        str(python()),
        "--seconds",
        str(START_SECONDS),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output)
    assert process.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        assert ready.select(START_SECONDS + END_SECONDS), f"{name} did not start: {log.read_text()[-2000:]}"
    url = process.stdout.readline().decode().strip()
    assert url, f"{name} did not start: {log.read_text()[-2000:]}"
    return process, url


@pytest.fixture(scope="session")
def recorded(shared_data: Path) -> Callable[[str], list[tuple[JsonObject, JsonObject]]]:
    """A server's recorded rollouts, each behind its task; they are joined by the user's text."""

    def read(name: str) -> list[tuple[JsonObject, JsonObject]]:
        tasks = {_asked(row): row for row in rows(shared_data / name / "example.jsonl")}
        return [(tasks[_asked(row)], row) for row in rows(shared_data / name / "example_rollouts.jsonl")]

    return read


def rows(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _asked(row: JsonObject) -> str:
    messages: Sequence[Message] = read_parameters(row).messages
    return "\n".join(message.text for message in messages if message.role == "user")
