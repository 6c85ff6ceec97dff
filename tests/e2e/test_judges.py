"""Verifiers that ask judges, on a whole stack: asked once, whatever dies, and never a 0 for a judge that fails."""

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from odradek_schemas.failures import FailureKind
from odradek_schemas.ids import is_judge_call
from tests.conftest import RunningStack
from tests.e2e.test_command import odradek
from tests.support.log import run_requested

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TASKS = 6
SAMPLES = 4


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Problems whose answers only a judge can tell to be right."""
    rows = [
        {"task": {"question": f"What is {n} + {n}?"}, "answer": {"expected_answer": str(2 * n)}}
        for n in range(TASKS)
    ]
    path = tmp_path_factory.mktemp("judges") / "tasks.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


async def test_judges_asked_through_the_log_are_asked_once_though_the_verifier_dies(
    stack: RunningStack, tasks: Path
) -> None:
    settings = {"judge_model": "mathematician_patient"}
    request = run_requested("math_with_judge", "mathematician", tasks, samples=SAMPLES, settings=settings)
    run = await stack.log.start(request)
    await stack.log.until(run, "judge-results", 4)
    (pid,) = [part.pid for part in stack.state.parts if part.name == "verifier-worker"]
    os.kill(pid, signal.SIGKILL)
    await stack.log.finished(run)
    seen = await stack.log.read(run, "rewards", "model-calls", "judge-results")
    rewards = seen.rewards()
    assert len(rewards) == TASKS * SAMPLES
    assert {reward.reward for reward in rewards} == {1.0}
    assert {len(reward.judgements) for reward in rewards} == {2}  # both orders
    asked = Counter(e.id for e in seen.events["model-calls"] if is_judge_call(e.id))
    answered = Counter(e.id for e in seen.events["judge-results"])
    assert set(asked.values()) == set(answered.values()) == {1}
    assert len(asked) == len(answered) == 2 * TASKS * SAMPLES
    assert json.loads(odradek(stack, "audit", run, "--json"))["verdict"] == "clean"


async def test_a_judge_that_fails_masks_the_reward_and_a_re_score_mends_it(
    stack: RunningStack, tasks: Path
) -> None:
    settings = {"judge_model": "nobody"}
    request = run_requested("math_with_judge", "mathematician", tasks, samples=1, settings=settings)
    run = await stack.log.start(request)
    await stack.log.finished(run)
    rewards = (await stack.log.read(run, "rewards")).rewards()
    assert [reward.masked for reward in rewards] == [True] * TASKS
    assert {reward.failure.kind for reward in rewards if reward.failure} == {FailureKind.UNKNOWN_MODEL}
    mended = await asyncio.to_thread(
        odradek, stack, "rescore", "--run", run, "--set", "judge_model=mathematician", "--json"
    )
    assert json.loads(mended)["counts"]["newly_scored"] == TASKS
    assert json.loads(odradek(stack, "audit", run, "--json"))["verdict"] == "clean"
