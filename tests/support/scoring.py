"""Trajectories to verify, and a pool that finds the tests' own environment."""

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from odradek_runtime.records import Record
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import Envelope
from odradek_schemas.events import TrajectoryFinished
from odradek_schemas.messages import Message
from odradek_schemas.rollouts import Group, RolloutStatus, Trajectory
from odradek_scoring.exchange import Job
from odradek_scoring.pool import Pool
from odradek_scoring.process import Bounds

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def make_finished(deed: str = "grade", said: str = "B", **changes: Any) -> TrajectoryFinished:
    """The record of a rollout in which the model said `said`; its verifier will do `deed`."""
    sample = changes.pop("sample", 0)
    task: JsonObject = {"deed": deed, **changes.pop("task", {})}
    rollout = f"run/0/{sample}"
    fields: dict[str, Any] = {
        "run_id": "run",
        "rollout_id": rollout,
        "group": Group(task_id="run/0", size=4),
        "sample": sample,
        "environment": "nasty",
        "harness": "single_turn",
        "model": "scripted",
        "seed": 0,
        "task": task,
        "messages": [Message(role="user", content="A or B?"), Message(role="assistant", content=said)],
        "prompt_messages": 1,
        "status": RolloutStatus.COMPLETED,
        "started_at": TIME,
        "finished_at": TIME,
    }
    trajectory = Trajectory(**{**fields, **changes})
    return TrajectoryFinished(
        id=f"{rollout}/finished", run_id="run", rollout_id=rollout, trajectory=trajectory
    )


def make_job(deed: str = "grade", said: str = "B", **changes: Any) -> Job:
    event = make_finished(deed, said, **changes)
    value = event.model_dump_json(exclude_none=True).encode()
    return Job(event.trajectory.environment, value, {"expected": "B"})


def make_record(event: TrajectoryFinished, offset: int = 7, claimed: bool = False) -> Record:
    """The event as read; `claimed`: its value was in the blob store."""
    value = b"" if claimed else event.model_dump_json(exclude_none=True).encode()
    envelope = Envelope(event.type, event.id, event.run_id, event.rollout_id, None, None, None)
    return Record("trajectories", 2, offset, event.key.encode(), value, (), envelope)


def make_pool(job_seconds: float = 2.0) -> Pool:
    return Pool(1, Bounds(job_seconds=job_seconds, start_seconds=60.0, memory_mib=1024))


@pytest.fixture
def finished() -> Callable[..., TrajectoryFinished]:
    return make_finished


@pytest.fixture
def job() -> Callable[..., Job]:
    return make_job


@pytest.fixture
def record() -> Callable[..., Record]:
    return make_record


@pytest.fixture(autouse=True, scope="session")
def _plugins() -> Iterator[None]:
    """Verifier processes find the tests' own environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "scoring/tests/plugins"))
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    """One process, with a deadline that only a stuck verifier overruns. It must survive whatever tests do to it."""
    pool = make_pool()
    yield pool
    await pool.close()


@pytest_asyncio.fixture(loop_scope="module")
async def own_pool() -> AsyncIterator[Pool]:
    """A pool for one test alone."""
    pool = make_pool(job_seconds=60.0)
    yield pool
    await pool.close()
