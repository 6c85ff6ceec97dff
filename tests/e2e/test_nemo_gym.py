"""A server of NeMo Gym's kind behind the real workers: its sessions outlive the env-worker."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from environments.nemo_gym.tests.support.strict_server import CounterServer, serving
from odradek_schemas.events import RunStatus, SessionStateChanged, TrajectoryFinished
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits, Trajectory
from tests.conftest import RunningStack
from tests.e2e.test_environments import audited
from tests.support.log import Seen, run_requested

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

ROWS = "example_session_state_mgmt/example.jsonl"


@pytest.fixture
async def server() -> AsyncIterator[CounterServer]:
    async with serving(CounterServer()) as server:
        yield server


async def played(stack: RunningStack, server: CounterServer, dataset: Path, **wishes: object) -> Seen:
    settings = {"server_url": server.url, "connect_seconds": 1.0}
    run = await stack.log.start(run_requested("nemo_gym", "tool_loop", dataset, settings=settings, **wishes))
    finished = await stack.log.finished(run)
    assert finished.status is RunStatus.FINISHED
    await audited(stack, run)
    return await stack.log.read(run, "trajectories", "rewards", "sessions")


def trajectories(seen: Seen) -> list[Trajectory]:
    events = seen.events["trajectories"]
    return [event.trajectory for event in events if isinstance(event, TrajectoryFinished)]


async def test_sessions_at_a_server_outlive_the_worker_that_began_them(
    stack: RunningStack, server: CounterServer, shared_data: Path
) -> None:
    """Caught: a cookie that dies with the worker; a call that reaches its session twice; a zero that is not the model's;
    a secret in the log."""
    order = stack.faults / "env-worker.tool.done"
    order.write_text("kill 7")
    killed = asyncio.create_task(_asked_until_gone(order, server))
    seen = await played(stack, server, shared_data / ROWS, samples=2)
    before = await killed

    assert [reward.reward for reward in seen.rewards()] == [1.0] * 10
    failures = [failure.kind for t in trajectories(seen) for failure in t.failed_attempts]
    assert set(failures) == {FailureKind.TOOL_INTERRUPTED}
    begun = {asked.session for asked in server.asked[:before]} - {None}
    verified = {asked.session: asked.body for asked in server.asked[before:] if asked.path == "/verify"}
    assert begun & verified.keys(), "a session that began before the kill was verified behind it"
    assert None not in {asked.session for asked in server.asked if asked.path != "/seed_session"}
    for session, row in verified.items():
        _each_call_came_once(server, session, row)
    assert not server.counters, "every session was put away"

    states = [event.state for event in seen.events["sessions"] if isinstance(event, SessionStateChanged)]
    assert {tuple(state) for state in states} == {("sealed",)}
    assert all(t.evidence is None and t.sealed_evidence and not t.final_state for t in trajectories(seen))


async def _asked_until_gone(order: Path, server: CounterServer) -> int:
    """How many requests had come when the order was carried out."""
    async with asyncio.timeout(60):
        while await asyncio.to_thread(order.exists):  # noqa: ASYNC110 - a file of another process
            await asyncio.sleep(0.01)
    return len(server.asked)


def _each_call_came_once(server: CounterServer, session: str | None, row: dict) -> None:
    wanted = re.findall(r"\badd (-?\d+)", row["responses_create_params"]["input"][-1]["content"])
    came = Counter(asked.path for asked in server.asked if asked.session == session)
    assert came["/increment_counter"] == len(wanted)


async def test_a_server_that_goes_away_costs_its_rollouts_and_no_zero_is_seen(
    stack: RunningStack, server: CounterServer, shared_data: Path
) -> None:
    server.delays["/verify"] = 60.0
    limits = Limits(max_attempts=1, session_seconds=2.0)
    seen = await played(stack, server, shared_data / ROWS, limit=2, limits=limits)
    assert [(reward.reward, reward.masked) for reward in seen.rewards()] == [(None, True)] * 2
    assert {reward.failure.kind for reward in seen.rewards() if reward.failure} == {
        FailureKind.SESSION_DEADLINE
    }
