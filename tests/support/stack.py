"""A local stack with scripted models, as the tests and the chaos suite use it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from odradek_local.settings import LocalSettings, Upstream
from odradek_local.state import StackState
from odradek_local.supervisor import down, status, up
from tests.support.log import Log

ROOT = Path(__file__).parent.parent.parent
SCRIPTS = ("instant", "mcqa", "tool_loop", "flaky", "error500", "slow")
LATENCY_MS = 5
PATIENT_LATENCY_MS = 400
"""Of the models whose names end in `_patient`: time enough to strike while a call is in flight."""


@dataclass(frozen=True)
class RunningStack:
    """A stack that is up, its log, the scripted models' log of requests, and the folder where faults are ordered."""

    settings: LocalSettings
    log: Log
    requests: Path
    faults: Path

    @property
    def state(self) -> StackState:
        state = status(self.settings)
        assert state is not None
        return state


def start_scripted_model(
    folder: Path, *arguments: str, name: str = "model"
) -> tuple[subprocess.Popen[bytes], str, Path]:
    """Start a scripted model; returns its process, base URL and request log, which others may write, too."""
    port_file, requests = folder / f"{name}.port", folder / "model.requests"
    command = [sys.executable, str(ROOT / "tests/support/scripted_model.py")]
    process = subprocess.Popen(
        [*command, "--port", "0", "--port-file", str(port_file), "--log", str(requests), *arguments],
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while not (port_file.exists() and port_file.read_text().strip()):
        assert time.monotonic() < until, "the scripted model did not start within 20 s"
        time.sleep(0.05)
    return process, f"http://127.0.0.1:{port_file.read_text().strip()}/v1", requests


@contextmanager
def running_stack(
    folder: Path, environment: Mapping[str, str] | None = None, *, local_model: bool = True
) -> Iterator[RunningStack]:
    """A stack with its data in `folder`; `environment` is added to that of its processes."""
    faults = folder / "faults"
    faults.mkdir(parents=True)
    models = []
    try:
        for name, latency in (("model", LATENCY_MS), ("patient", PATIENT_LATENCY_MS)):
            models.append(
                start_scripted_model(folder, "--script", "instant", "--latency-ms", str(latency), name=name)
            )
        (_, quick, requests), (_, patient, _) = models
        settings = LocalSettings(
            data_dir=folder / "data",
            kafka_port=0,
            model_port=0,
            services_port=0,
            local_model=local_model,
            models=_upstreams(quick, patient),
        )
        with mock.patch.dict(os.environ, {"ODRADEK_FAULTS": str(faults)} | dict(environment or {})):
            state = up(settings)
        try:
            yield RunningStack(settings, Log(state.bootstrap, state.topic_prefix), requests, faults)
        finally:
            down(settings)
    finally:
        for process, _, _ in models:
            process.terminate()
            process.wait(10)


def _upstreams(quick: str, patient: str) -> dict[str, Upstream]:
    upstreams = {name: Upstream(base_url=quick, model=name) for name in SCRIPTS}
    upstreams |= {f"{name}_patient": Upstream(base_url=patient, model=name) for name in SCRIPTS}
    return upstreams | {
        "tool_loop_json": Upstream(base_url=quick, model="tool_loop", tool_calls="json_schema")
    }
