"""The small real model plays, and really calls tools."""

import pytest

from odradek.plugins import load_environment
from odradek_schemas.events import TrajectoryFinished
from odradek_schemas.messages import Sampling
from odradek_schemas.rollouts import Limits
from tests.conftest import RunningStack
from tests.support.log import run_requested

pytestmark = [pytest.mark.kafka, pytest.mark.model, pytest.mark.slow]


@pytest.mark.parametrize(("environment", "tasks"), [("mcqa", 4), ("example_session_state_mgmt", 2)])
async def test_small_model(stack: RunningStack, environment: str, tasks: int) -> None:
    """Whatever it answers, each rollout ends with a reward; where there are tools it uses them."""
    request = run_requested(
        environment,
        "smollm2",
        load_environment(environment).examples(),
        limit=tasks,
        sampling=Sampling(temperature=0.0, max_tokens=128),
        limits=Limits(max_turns=6),
    )
    run = await stack.log.start(request)
    finished = await stack.log.finished(run, 150)
    seen = await stack.log.read(run, "trajectories", "rewards")
    assert finished.counts.finished == tasks
    assert finished.counts.masked == 0
    assert finished.counts.usage.completion_tokens > 0
    trajectories = [e.trajectory for e in seen.events["trajectories"] if isinstance(e, TrajectoryFinished)]
    calls = [step for trajectory in trajectories for step in trajectory.steps if step.kind == "tool"]
    assert bool(calls) is load_environment(environment).has_session
