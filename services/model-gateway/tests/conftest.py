"""The scripted model server as its own process, and events to ask it with."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from odradek_model_gateway import retries
from odradek_model_gateway.upstream import HttpClient

sys.path.insert(0, str(Path(__file__).parent / "support"))

SERVER = Path(__file__).parents[3] / "tests" / "support" / "scripted_model.py"
START_SECONDS = 20.0


@dataclass
class ScriptedModel:
    """A server that runs; `log` is where it notes each request."""

    base_url: str
    log: Path

    @property
    def requests(self) -> list[str]:
        return [orjson.loads(line)["request_id"] for line in self.log.read_text().splitlines()]

    def asked(self, call_id: str) -> int:
        return self.requests.count(call_id)


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedModel]:
    folder = tmp_path_factory.mktemp("model")
    port_file, log = folder / "port", folder / "log"
    command = [
        sys.executable,
        str(SERVER),
        "--port-file",
        str(port_file),
        "--log",
        str(log),
        "--script",
        "mcqa",
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield ScriptedModel(f"http://127.0.0.1:{_port(server, port_file)}/v1", log)
    finally:
        server.terminate()
        server.wait(10)


def _port(server: "subprocess.Popen[bytes]", port_file: Path) -> int:
    deadline = time.monotonic() + START_SECONDS
    while not port_file.exists():
        assert server.poll() is None, f"the scripted model ended with {server.returncode}"
        assert time.monotonic() < deadline, "the scripted model did not start"
        time.sleep(0.02)
    return int(port_file.read_text())


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient(connections=8)
    client.join()
    yield client
    await client.leave()


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_BACKOFF_SECONDS", 0.001)
