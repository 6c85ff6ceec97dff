"""A trainer that is killed at every step of a run trains on each group once."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.kafka
PROGRAM = Path(__file__).parent / "lab" / "mortal_trainer.py"
TASKS = 3


async def test_no_death_repeats_a_group_or_loses_one(world: Any, makes: Any, tmp_path: Path) -> None:
    rewards = [makes.reward(task, sample, float(sample)) for sample in (0, 1) for task in range(TASKS)]
    await world.write(makes.run(demand=0), *rewards, makes.reward(TASKS, 0, None), makes.reward(TASKS, 1))
    await world.write(makes.finish(2 * TASKS + 2))
    checkpoint = tmp_path / "checkpoint.json"
    command = [sys.executable, str(PROGRAM), world.bootstrap, world.prefix, str(checkpoint)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    said, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0
    assert int(said) == 4 * TASKS, "four deaths a step"
    weights = json.loads(checkpoint.read_text())["weights"]
    assert sorted(weights) == [[f"r/{task}", [0, 1]] for task in range(TASKS)]
