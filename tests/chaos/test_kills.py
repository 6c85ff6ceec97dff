"""SIGKILL each worker in turn in mid-run: the run finishes, nothing is lost, nothing is double."""

import asyncio
import json
import os
import signal
from collections import Counter

import pytest

from odradek_local.state import PartStatus
from odradek_schemas.events import (
    ModelCallCompleted,
    RewardAssigned,
    RunRequested,
    RunStatus,
    ToolCallCompleted,
    TrajectoryFinished,
)
from odradek_schemas.rollouts import RolloutStatus
from tests.conftest import RunningStack
from tests.support.log import run_requested

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(240)]

WORKERS = ("task-producer", "agent-worker", "env-worker", "verifier-worker", "model-gateway")


def kill(stack: RunningStack, worker: str) -> None:
    """SIGKILL; the stack's supervisor restarts it at once."""
    part = next(part for part in stack.state.parts if part.name == worker)
    os.kill(part.pid, signal.SIGKILL)


async def healthy(stack: RunningStack, worker: str, restarts: int) -> None:
    async with asyncio.timeout(60):
        while True:
            part = next(part for part in stack.state.parts if part.name == worker)
            if part.status is PartStatus.HEALTHY and part.restarts > restarts:
                return
            await asyncio.sleep(0.2)


def restarts(stack: RunningStack, worker: str) -> int:
    return next(part for part in stack.state.parts if part.name == worker).restarts


def requests_made(stack: RunningStack) -> Counter[str]:
    """How often the model's server was asked, by call id."""
    return Counter(json.loads(line)["request_id"] for line in stack.requests.read_text().splitlines())


async def test_each_worker_killed_in_turn(stack: RunningStack, shared_data) -> None:  # type: ignore[no-untyped-def]
    """One run, five kills. Counts at the end are those of a run without any."""
    path = shared_data / "example_session_state_mgmt" / "example.jsonl"
    request = run_requested("example_session_state_mgmt", "tool_loop", path, samples=60, concurrency=40)
    run = await stack.log.start(request)
    asked_when_answered: list[dict[str, int]] = []
    for number, worker in enumerate(WORKERS, 1):
        await stack.log.until(run, "rewards", number * 40, 90)
        before, asked = restarts(stack, worker), requests_made(stack)
        answered = calls((await stack.log.read(run, "model-results")).events["model-results"])
        asked_when_answered.append({call: asked[call] for call in answered if call in asked})
        kill(stack, worker)
        await healthy(stack, worker, before)
    await the_run_is_whole(stack, request)
    asked = requests_made(stack)
    for before_kill in asked_when_answered:
        again = [call for call, times in before_kill.items() if asked[call] > times]
        assert not again, "calls whose answers were in the log were made again"


async def the_run_is_whole(stack: RunningStack, request: RunRequested) -> None:
    finished = await stack.log.finished(request.run_id, 120)
    seen = await stack.log.read(
        request.run_id, "tasks", "trajectories", "rewards", "model-results", "observations", "dead-letters"
    )
    trajectories, rewards = (
        seen.count("trajectories", TrajectoryFinished),
        seen.count("rewards", RewardAssigned),
    )
    assert finished.status is RunStatus.FINISHED
    assert finished.planned == len(seen.events["tasks"]) == len(trajectories) == len(rewards) == 300
    assert set(trajectories.values()) == set(rewards.values()) == {1}
    assert {reward.status for reward in seen.rewards()} == {RolloutStatus.COMPLETED}
    assert {reward.reward for reward in seen.rewards()} == {1.0}, "a tool call was lost or applied twice"
    assert max(Counter(calls(seen.events["model-results"])).values()) == 1
    assert max(Counter(calls(seen.events["observations"])).values()) == 1
    assert not seen.events["dead-letters"]


def calls(events: list) -> list[str]:  # type: ignore[type-arg]
    return [event.call_id for event in events if isinstance(event, ModelCallCompleted | ToolCallCompleted)]
