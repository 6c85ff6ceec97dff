"""Runs of the tests with Docker: enough rollouts, slow enough, to strike while they play."""

import json
from dataclasses import dataclass
from typing import Any

from odradek_schemas.events import RunFinished
from tests.docker.stack import DockerStack
from tests.support.log import Log

ENVIRONMENT, MODEL = "example_session_state_mgmt", "tool_loop"
ROLLOUTS_BEFORE = 4
"""So many have their reward when a test strikes."""


@dataclass(frozen=True)
class Playing:
    """A run under way."""

    stack: DockerStack
    run: str

    async def ends_clean(self) -> None:
        """Wait for its end: every rollout is scored, none failed, and the audit proves that nothing was lost."""
        self.stack.odradek("watch", self.run)
        results = json.loads(self.stack.odradek("results", self.run, "--json"))
        assert results["mean_reward"]["scored"] == results["planned"], results
        self.stack.odradek("audit", self.run)


async def play(stack: DockerStack, samples: int = 6) -> Playing:
    """Start a run, and return when some of its rollouts have their reward and most are still to come."""
    options = ["--limit", "6", "--samples", str(samples), "--concurrency", "12", "--detach", "--json"]
    told: dict[str, Any] = json.loads(stack.odradek("run", ENVIRONMENT, "--model", MODEL, *options))
    log = Log(stack.bootstrap, "odradek.")
    await log.until(told["run_id"], "rewards", ROLLOUTS_BEFORE, seconds=180)
    events = (await log.read(told["run_id"], "runs")).events["runs"]
    assert not any(isinstance(event, RunFinished) for event in events), "too late to strike"
    return Playing(stack, told["run_id"])
