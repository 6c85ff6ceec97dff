"""What models, users' code and foreign records do to a run: one of each, chosen by `ODRADEK_CHAOS_SEED`."""

import os
from pathlib import Path
from random import Random

import pytest

from tests.chaos import matrix
from tests.chaos.arena import opened
from tests.chaos.runner import play
from tests.chaos.scenario import Scenario
from tests.conftest import RunningStack

SEED = int(os.environ.get("ODRADEK_CHAOS_SEED", "1"))
SLOW = ("code/tool/hold", "code/verifier")
"""Quick only on a ground of their own, whose workers lose patience early."""


def selection(seed: int) -> list[Scenario]:
    chance = Random(seed)
    return [chance.choice(_quick(kind)) for kind in ("model/", "code/", "effect/", "poison/")]


def _quick(kind: str) -> list[Scenario]:
    named = [s for s in matrix.SCENARIOS if s.name.startswith(kind) and not s.name.startswith(SLOW)]
    return [s for s in named if not s.ruins and not s.ground.disks]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", selection(SEED), ids=lambda scenario: scenario.name)
async def test_a_run_in_a_bad_world_ends_as_it_must(
    stack: RunningStack, scenario: Scenario, tmp_path: Path
) -> None:
    async with opened(stack, tmp_path) as arena:
        result = await play(scenario, arena, SEED)
    assert result.ok, "\n".join(result.notes)
