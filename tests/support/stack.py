"""A local stack with scripted models, as the tests and the chaos suite use it."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from odradek.models import ModelSettings
from odradek_local.settings import LocalSettings
from odradek_local.state import StackState
from odradek_local.supervisor import down, status, up
from tests.support.log import Log

ROOT = Path(__file__).parent.parent.parent
MISCHIEF = {
    "PYTHONPATH": str(ROOT / "tests/chaos/world"),
    "ODRADEK_PROGRAMS_DIR": str(ROOT / "tests/harnesses/manifests"),
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}
"""What lets the services of a stack find the chaos world's environment and harness, and the tests' agent program."""
SCRIPTS = (
    "instant",
    "mcqa",
    "mathematician",
    "tool_loop",
    "planned",
    "flaky",
    "rate_limited",
    "error500",
    "broken_json",
    "endless",
    "trickle",
    "close",
    "cut",
    "slow",
)
NOWHERE = "http://127.0.0.1:9/v1"
"""Where nobody listens."""
LIMITED = {"max_concurrency": 12, "requests_per_minute": 6000, "tokens_per_minute": 10_000_000}
"""Of a model on which limits bear: two gateways ask for more at once than it takes."""
LATENCY_MS = 5
PATIENT_LATENCY_MS = 400
"""Of the models whose names end in `_patient`: time enough to strike while a call is in flight."""


@dataclass
class ScriptedModel:
    """A scripted model's server; it can be killed, and started again at the same address."""

    process: "subprocess.Popen[bytes]"
    base_url: str
    folder: Path
    name: str
    arguments: tuple[str, ...]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def start_again(self) -> None:
        port = self.base_url.rpartition(":")[2].removesuffix("/v1")
        self.process, _, _ = start_scripted_model(
            self.folder, *self.arguments, "--port", port, name=self.name
        )

    def answer_by(self, script: str | None) -> None:
        """Let `script` answer for all models of this server; None: each for itself, as ever."""
        url = self.base_url.removesuffix("/v1") + "/fault"
        order = urllib.request.Request(url, json.dumps({"script": script}).encode(), method="POST")
        urllib.request.urlopen(order, timeout=10).close()

    def hasty(self) -> int:
        """How many requests came before the time that the server had asked to wait."""
        with urllib.request.urlopen(self.base_url.removesuffix("/v1") + "/counts", timeout=10) as answer:
            return sum(json.load(answer)["hasty"].values())


@dataclass(frozen=True)
class RunningStack:
    """A stack that is up, its log, the scripted models' log of requests, and the folder where faults are ordered."""

    settings: LocalSettings
    log: Log
    requests: Path
    faults: Path
    models: tuple[ScriptedModel, ...]

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
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    local_model: bool = True,
    blob_store: str | None = None,
    more_models: Mapping[str, ModelSettings] | None = None,
) -> Iterator[RunningStack]:
    """A stack with its data in `folder`; `environment` is added to that of its processes."""
    faults = folder / "faults"
    faults.mkdir(parents=True)
    models: list[ScriptedModel] = []
    try:
        for name, latency in (("model", LATENCY_MS), ("patient", PATIENT_LATENCY_MS)):
            arguments = ("--script", "instant", "--latency-ms", str(latency), "--retry-after", "1")
            process, url, requests = start_scripted_model(folder, *arguments, name=name)
            models.append(ScriptedModel(process, url, folder, name, arguments))
        quick, patient = (model.base_url for model in models)
        settings = LocalSettings(
            data_dir=folder / "data",
            kafka_port=0,
            valkey_port=0,
            model_port=0,
            services_port=0,
            front_port=0,
            local_model=local_model,
            blob_store=blob_store,
            models=_upstreams(quick, patient) | dict(more_models or {}),
        )
        try:
            with mock.patch.dict(os.environ, {"ODRADEK_FAULTS": str(faults)} | dict(environment or {})):
                state = up(settings)
            log = Log(state.bootstrap, state.topic_prefix)
            yield RunningStack(settings, log, requests, faults, tuple(models))
        finally:
            down(settings)
    finally:
        for model in models:
            model.process.terminate()
            model.process.wait(10)


def _upstreams(quick: str, patient: str) -> dict[str, ModelSettings]:
    upstreams = {name: ModelSettings.at(quick, model=name) for name in SCRIPTS}
    upstreams |= {f"{name}_patient": ModelSettings.at(patient, model=name) for name in SCRIPTS}
    return upstreams | {
        "tool_loop_json": ModelSettings.at(quick, model="tool_loop", tool_calls="json_schema"),
        "tool_loop_limited": ModelSettings.at(patient, model="tool_loop", **LIMITED),
        "nowhere": ModelSettings.at(NOWHERE, model="instant"),
    }
