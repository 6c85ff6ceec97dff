"""Agent programs play rollouts on a real stack: their model calls come over HTTP, and are in the log, in order."""

import asyncio
import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from odradek_schemas.events import ModelCallCompleted, TrajectoryFinished
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits, ModelStep, ProgramStep, RolloutStatus, Trajectory
from tests.conftest import RunningStack
from tests.e2e.test_environments import played
from tests.support.log import run_requested

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PROGRAM = "program:openai-agent"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Files to copy: the program is to read one, and write another."""
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(_task(number)) + "\n" for number in range(4)))
    return path


def _task(number: int) -> Any:
    commands = ["cat question.txt", "cp question.txt answer.txt"]
    calls = [{"name": "bash", "arguments": {"command": command}} for command in commands]
    return {
        "id": f"copy-{number}",
        "task": {
            "instruction": f"Copy question.txt to answer.txt. Calls: {json.dumps(calls)}",
            "files": {"question.txt": f"number {number}\n"},
        },
        "answer": {"expected_files": {"answer.txt": f"number {number}"}},
    }


def trajectories(seen: Any) -> list[Trajectory]:
    return [
        event.trajectory for event in seen.events["trajectories"] if isinstance(event, TrajectoryFinished)
    ]


async def test_a_program_plays_a_task_of_two_steps(stack: RunningStack, tasks: Path) -> None:
    finished, seen = await played(stack, "workspace", "planned", tasks, samples=2, harness=PROGRAM)
    assert finished.counts.completed == 8
    assert {reward.reward for reward in seen.rewards()} == {1.0}
    for trajectory in trajectories(seen):
        *calls, end = trajectory.steps
        assert [step.kind for step in calls] == ["model"] * 3
        assert isinstance(end, ProgramStep)
        assert (end.result, end.exit_code, end.failed) == ("All calls are made.", 0, None)
        assert [tool.function.name for tool in trajectory.tools][-1] == "bash"
        question = trajectory.task["files"]["question.txt"]  # type: ignore[index, call-overload]
        roles = ["user", "assistant", "tool", "assistant", "tool", "assistant"]
        assert [message.role for message in trajectory.messages] == roles
        assert trajectory.messages[2].text == question
        assert [step.context for step in calls if isinstance(step, ModelStep)] == [
            [0],
            [0, 1, 2],
            [0, 1, 2, 3, 4],
        ]
        assert trajectory.usage.prompt_tokens > 0
        assert trajectory.usage.total_tokens == sum(
            s.usage.total_tokens for s in calls if isinstance(s, ModelStep)
        )


async def test_a_model_side_that_errs_is_the_rollouts_failure(stack: RunningStack, tasks: Path) -> None:
    limits = Limits(max_attempts=1, model_seconds=2)
    finished, seen = await played(stack, "workspace", "error500", tasks, harness=PROGRAM, limits=limits)
    assert finished.counts.failed == finished.counts.masked == 4
    for trajectory in trajectories(seen):
        assert trajectory.failure is not None
        assert trajectory.failure.kind in (FailureKind.UPSTREAM_UNAVAILABLE, FailureKind.MODEL_DEADLINE)


async def test_a_bound_cuts_a_program_short(stack: RunningStack, tasks: Path) -> None:
    limits = Limits(max_turns=1)
    _, seen = await played(stack, "workspace", "planned", tasks, limit=1, harness=PROGRAM, limits=limits)
    (trajectory,) = trajectories(seen)
    assert (trajectory.status, trajectory.truncated_by) == (RolloutStatus.TRUNCATED, "max_turns")
    (reward,) = seen.rewards()
    assert reward.reward == 0.0


async def test_a_program_that_is_not_there_fails_with_its_name(stack: RunningStack, tasks: Path) -> None:
    _, seen = await played(stack, "workspace", "planned", tasks, limit=1, harness="program:no-such")
    (trajectory,) = trajectories(seen)
    assert trajectory.failure is not None
    assert trajectory.failure.kind is FailureKind.UNKNOWN_PROGRAM
    assert "no-such" in trajectory.failure.message


@pytest.mark.timeout(300)
async def test_killed_workers_cost_no_rollout(stack: RunningStack, tasks: Path) -> None:
    """An interrupted program begins a new attempt; one whose gateway died asks again, or fails its attempt."""
    request = run_requested(
        "workspace", "planned_patient", tasks, samples=3, harness=PROGRAM, limits=Limits(max_attempts=8)
    )
    run = await stack.log.start(request)
    for name in ("env-worker", "model-gateway", "agent-worker"):
        await asyncio.sleep(1.5)
        (part,) = [part for part in stack.state.parts if part.name == name]
        os.kill(part.pid, signal.SIGKILL)
    finished = await stack.log.finished(run, 200)
    seen = await stack.log.read(run, "trajectories", "rewards", "model-results")
    assert finished.counts.completed == 12, finished
    assert {reward.reward for reward in seen.rewards()} == {1.0}
    ids = Counter(e.call_id for e in seen.events["model-results"] if isinstance(e, ModelCallCompleted))
    assert set(ids.values()) == {1}
    for trajectory in trajectories(seen):
        assert trajectory.turns == 3
