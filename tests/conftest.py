"""The whole system: a local stack with scripted models, shared by the tests of a session."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from odradek_local.settings import LocalSettings, Upstream
from odradek_local.state import StackState
from odradek_local.supervisor import down, status, up
from tests.support.log import Log

ROOT = Path(__file__).parent.parent
SCRIPTS = ("instant", "mcqa", "tool_loop", "flaky", "error500", "slow")


@dataclass(frozen=True)
class RunningStack:
    """A stack that is up, its log, and the scripted model's log of requests."""

    settings: LocalSettings
    log: Log
    requests: Path

    @property
    def state(self) -> StackState:
        state = status(self.settings)
        assert state is not None
        return state


def start_scripted_model(folder: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], str, Path]:
    """Start a scripted model; returns its process, base URL and request log."""
    port_file, requests = folder / "model.port", folder / "model.requests"
    command = [sys.executable, str(ROOT / "tests/support/scripted_model.py")]
    process = subprocess.Popen(
        [*command, "--port", "0", "--port-file", str(port_file), "--log", str(requests), *arguments]
    )
    until = time.monotonic() + 20
    while not (port_file.exists() and port_file.read_text().strip()):
        assert time.monotonic() < until, "the scripted model did not start within 20 s"
        time.sleep(0.05)
    return process, f"http://127.0.0.1:{port_file.read_text().strip()}/v1", requests


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    folder = tmp_path_factory.mktemp("stack")
    model, base_url, requests = start_scripted_model(folder, "--script", "instant", "--latency-ms", "5")
    settings = LocalSettings(
        data_dir=folder / "data",
        kafka_port=0,
        model_port=0,
        services_port=0,
        models={name: Upstream(base_url=base_url, model=name) for name in SCRIPTS}
        | {"tool_loop_json": Upstream(base_url=base_url, model="tool_loop", tool_calls="json_schema")},
    )
    try:
        state = up(settings)
        yield RunningStack(settings, Log(state.bootstrap, state.topic_prefix), requests)
    finally:
        down(settings)
        model.terminate()
        model.wait(10)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The example rows of NeMo Gym's servers, which CI must have."""
    path = Path(os.environ.get("ODRADEK_SHARED", ROOT.parent / "shared")) / "data" / "nemo-gym"
    if not path.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{path} is not there: set ODRADEK_SHARED")
    return path
