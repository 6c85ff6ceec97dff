"""A scripted model behind a gateway, for one program at a time."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from odradek.models import ModelSettings
from odradek.programs import Call, Outcome, Program, find_program
from odradek_env_worker.programs import run
from tests.harnesses.agent_model import TASK, AgentModel, serving
from tests.harnesses.alone import MARK
from tests.harnesses.installing import environment_of, is_installed
from tests.harnesses.names_asked import NameServer, name_server
from tests.support.gateway import RunningGateway, running_gateway

MODEL = "org/scripted-1"
MANIFESTS = Path(__file__).parent / "manifests"


@dataclass
class Stage:
    """All that a program meets. `names`: None where the machine's own name server is asked."""

    model: AgentModel
    gateway: RunningGateway
    workspace: Path
    names: NameServer | None

    async def play(self, program: Program, seconds: float) -> Outcome:
        call = Call(TASK, MODEL, self.gateway.url, self.gateway.token(MODEL), "run/0/0")
        return await run(program, call, self.workspace, seconds, environment_of(program))


@pytest.fixture
async def stage(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[Stage]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    model = AgentModel()
    async with (
        serving(model) as upstream,
        running_gateway(kafka, prefix, tmp_path / "blobs", {MODEL: _asked_once(upstream)}) as gateway,
        name_server() if MARK in os.environ else nullcontext() as names,
    ):
        yield Stage(model, gateway, workspace, names)


def _asked_once(upstream: str) -> ModelSettings:
    return ModelSettings.at(upstream, model="scripted", tries=1)


@pytest.fixture
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program of a parameter; one that is not installed is left out."""
    found = find_program(request.param, {"ODRADEK_PROGRAMS_DIR": str(MANIFESTS)})
    if found.install.check and not is_installed(found):
        pytest.skip(f"{found.name} is not installed: make test-harnesses")
    if not found.install.check:
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    return found
