"""Each program plays a task of two steps by a scripted model, and fails in time when the model does."""

import random
from pathlib import Path

import pytest

from odradek.programs import Program, find_program, program_names
from odradek_schemas.events import Event, ModelCallCompleted, ModelCallFailed
from tests.harnesses.agent_model import RESULT, ask
from tests.harnesses.conftest import Stage
from tests.harnesses.installing import version_of

TESTED = [name for name in program_names({}) if find_program(name, {}).tested]

PLAY_SECONDS = 180.0
FAULT_SECONDS = 60.0

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

installed = [pytest.param(name, marks=[pytest.mark.harness, pytest.mark.slow], id=name) for name in TESTED]
PROGRAMS = pytest.mark.parametrize("program", ["openai-agent", *installed], indirect=True)
INSTALLED = pytest.mark.parametrize("program", installed, indirect=True)


@PROGRAMS
async def test_it_plays_a_task(program: Program, stage: Stage) -> None:
    number = random.randrange(1_000_000)
    ask(stage.workspace, number)
    outcome = await stage.play(program, PLAY_SECONDS)
    assert stage.model.steps == ["read", "write", "end"], outcome
    assert not outcome.failed, outcome
    assert outcome.result == RESULT, outcome
    assert (stage.workspace / "answer.txt").read_text() == f"{2 * number}\n"
    calls = await stage.gateway.told()
    assert [_asked(call) for call in calls] == [(program.dialect, program.streams)] * 3
    assert stage.names is None or stage.names.asked <= set(program.outside)


def _asked(call: Event) -> tuple[str, bool] | None:
    """The dialect of a call that was answered, and whether it was streamed."""
    if not isinstance(call, ModelCallCompleted) or call.asked is None:
        return None
    return call.asked.dialect, call.asked.streamed


@PROGRAMS
@pytest.mark.parametrize("status", [400, 401, 500])
async def test_it_fails_when_the_model_does(program: Program, stage: Stage, status: int) -> None:
    ask(stage.workspace, 1)
    stage.model.fault = status
    outcome = await stage.play(program, FAULT_SECONDS)
    assert outcome.failed, outcome
    assert outcome.reason, outcome
    calls = await stage.gateway.told()
    assert calls
    assert all(isinstance(call, ModelCallFailed) for call in calls)


@INSTALLED
async def test_it_is_the_version_that_was_tested(program: Program, tmp_path: Path) -> None:
    assert str(program.tested) in version_of(program, tmp_path)
