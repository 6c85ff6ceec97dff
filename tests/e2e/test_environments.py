"""Each environment, played by real workers on a real Kafka with a scripted model."""

import json
from pathlib import Path

import pytest

from odradek.audit import Verdict
from odradek.plugins import load_environment
from odradek_cli.auditing import audit
from odradek_schemas.events import (
    RewardAssigned,
    RunCancelled,
    RunCancelRequested,
    RunStatus,
    TrajectoryFinished,
)
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits, RolloutStatus
from tests.conftest import RunningStack
from tests.support.log import run_requested

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


async def audited(stack: RunningStack, run: str) -> None:
    report = await audit(stack.log.bootstrap, stack.log.prefix, run, stack.state.blob_store)
    assert report.verdict is Verdict.CLEAN, str(report)


async def played(
    stack: RunningStack, environment: str, model: str, dataset: Path | None = None, **wishes: object
):
    """Play a run to its end; checks that each planned rollout has one trajectory and one reward, and returns all."""
    path = dataset or load_environment(environment).examples()
    request = run_requested(environment, model, path, **wishes)
    run = await stack.log.start(request)
    finished = await stack.log.finished(run)
    seen = await stack.log.read(run, "trajectories", "rewards", "dead-letters")
    trajectories, rewards = (
        seen.count("trajectories", TrajectoryFinished),
        seen.count("rewards", RewardAssigned),
    )
    assert finished.admitted == finished.counts.finished == len(rewards) == len(trajectories)
    assert set(trajectories.values()) <= {1}
    assert set(rewards.values()) <= {1}
    assert not seen.events["dead-letters"]
    await audited(stack, run)
    return finished, seen


async def test_mcqa(stack: RunningStack) -> None:
    finished, seen = await played(stack, "mcqa", "mcqa", samples=3)
    assert finished.status is RunStatus.FINISHED
    assert finished.planned == finished.counts.completed == len(seen.rewards())
    values = {reward.reward for reward in seen.rewards()}
    assert values == {0.0, 1.0}, "a script that picks letters is right at times, and wrong at times"


@pytest.mark.parametrize("model", ["tool_loop", "tool_loop_json"])
@pytest.mark.parametrize(
    ("environment", "solved"),
    [("example_session_state_mgmt", 10), ("example_multi_step", 2), ("example_single_tool_call", 10)],
)
async def test_tools(
    stack: RunningStack, environment: str, solved: int, model: str, shared_data: Path
) -> None:
    """NeMo Gym's rows as they are: a model that calls the right tools, natively or not, gets the full reward.

    Of `example_multi_step` the script understands the one question that names its term.
    """
    path = shared_data / environment / "example.jsonl"
    finished, seen = await played(stack, environment, model, path, samples=2)
    assert finished.counts.completed == finished.planned == 10
    assert [reward.reward for reward in seen.rewards()].count(1.0) == solved
    assert all(reward.turns >= 2 for reward in seen.rewards())


async def test_single_turn_harness(stack: RunningStack) -> None:
    _finished, seen = await played(stack, "example_session_state_mgmt", "tool_loop", harness="single_turn")
    assert {reward.turns for reward in seen.rewards()} == {1}


async def test_bound_on_turns(stack: RunningStack, shared_data: Path) -> None:
    path = shared_data / "example_session_state_mgmt" / "example.jsonl"
    _finished, seen = await played(
        stack, "example_session_state_mgmt", "tool_loop", path, limits=Limits(max_turns=1)
    )
    assert {reward.status for reward in seen.rewards()} == {RolloutStatus.TRUNCATED}
    assert {reward.truncated_by for reward in seen.rewards()} == {"max_turns"}
    assert all(reward.reward is not None for reward in seen.rewards())


async def test_model_that_is_down(stack: RunningStack) -> None:
    """An upstream that always fails: every rollout ends failed, masked, with the kind; none is a zero."""
    limits = Limits(max_attempts=2, model_seconds=5)
    finished, seen = await played(stack, "mcqa", "error500", limit=3, limits=limits)
    assert finished.counts.failed == finished.counts.masked == finished.planned == 3
    assert finished.counts.failures == {FailureKind.UPSTREAM_UNAVAILABLE: 3}
    assert all(reward.masked and reward.reward is None for reward in seen.rewards())


async def test_cancelled_run(stack: RunningStack) -> None:
    """Rollouts that wait for a model that never answers are cancelled with their run, and so counted."""
    request = run_requested("mcqa", "slow", load_environment("mcqa").examples(), concurrency=4)
    run = await stack.log.start(request)
    await stack.log.until(run, "model-calls", 4)
    await stack.log.publish(
        "runs", RunCancelRequested(id=f"{run}/cancel", run_id=run, reason="the test says so")
    )
    finished = await stack.log.finished(run)
    seen = await stack.log.read(run, "rewards", "control")
    assert finished.status is RunStatus.CANCELLED
    assert finished.counts.cancelled == finished.admitted == len(seen.rewards()) < finished.planned
    assert [event.reason for event in seen.events["control"] if isinstance(event, RunCancelled)] == [
        "the test says so"
    ]
    await audited(stack, run)


async def test_bad_data_set(stack: RunningStack, tmp_path: Path) -> None:
    """Nothing starts, and every bad row is named with line, field and reason."""
    rows = load_environment("mcqa").examples().read_text().splitlines()
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join([rows[0], "{not json", rows[1], json.dumps({"task": {}, "answer": {}})]))
    run = await stack.log.start(run_requested("mcqa", "mcqa", path))
    finished = await stack.log.finished(run)
    await audited(stack, run)
    assert finished.status is RunStatus.FAILED
    assert finished.failure is not None
    assert finished.failure.kind is FailureKind.INVALID_DATASET
    assert {row.line for row in finished.bad_rows} == {2, 4}
    assert all(row.reason for row in finished.bad_rows)
