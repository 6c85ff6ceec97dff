"""Agent programs at work, and whoever they depend on struck: each rollout ends with its work done, by as many attempts as it takes."""

import json
from typing import Any

from odradek_schemas.rollouts import Limits
from tests.chaos.scenario import Ground, Load, Recovery, Scenario
from tests.chaos.strikes import End, Progress, Victim
from tests.chaos.workers import AGENT, ENV, GATEWAY
from tests.support.stack import MISCHIEF

WITH_CALLS = Progress("model-results", 4, 12)
COMMANDS = ("cat question.txt", "cp question.txt answer.txt")


def copies() -> list[dict[str, Any]]:
    """Files to copy in a workspace: the program is to read one, and write another."""
    calls = [{"name": "bash", "arguments": {"command": command}} for command in COMMANDS]
    instruction = f"Copy question.txt to answer.txt. Calls: {json.dumps(calls)}"
    return [
        {
            "task": {"instruction": instruction, "files": {"question.txt": f"number {number}"}},
            "answer": {"expected_files": {"answer.txt": f"number {number}"}},
        }
        for number in range(4)
    ]


LOAD = Load(
    environment="workspace",
    model="planned_patient",
    rows=copies,
    samples=4,
    concurrency=6,
    limits=Limits(max_attempts=8),
    harness="program:openai-agent",
)

SCENARIOS = tuple(
    Scenario(
        f"program/{kind}/kill",
        kind,
        "with agent programs at work",
        "SIGKILL",
        (End((Victim(kind),), after=WITH_CALLS),),
        load=LOAD,
        recovery=Recovery.RESTART,
        ground=Ground(MISCHIEF, "programs"),
    )
    for kind in (GATEWAY, ENV, AGENT)
)
