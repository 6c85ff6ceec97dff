"""Rewards as the verifier-worker writes them, and tables of scores."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from odradek_schemas.events import RecordCoordinates, RewardAssigned
from odradek_schemas.messages import Usage
from odradek_schemas.rollouts import Group, RolloutStatus

sys.path.insert(0, str(Path(__file__).parent / "support"))

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_reward(
    task, sample, value, *, details=None, seconds=1.0, tokens=0, attempt=1, cost=None, **components
):
    return RewardAssigned(
        id=f"r/{task}/{sample}/primary",
        run_id="r",
        rollout_id=f"r/{task}/{sample}",
        reward=value,
        masked=value is None,
        components=components,
        details=details or {},
        status=RolloutStatus.COMPLETED if value is not None else RolloutStatus.FAILED,
        environment="e",
        model="m",
        group=Group(task_id=f"r/{task}", size=4),
        sample=sample,
        turns=1,
        attempt=attempt,
        usage=Usage(prompt_tokens=tokens),
        cost=cost,
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=seconds),
        trajectory=RecordCoordinates(topic="trajectories", partition=0, offset=0),
    )


@pytest.fixture
def reward():
    return make_reward
