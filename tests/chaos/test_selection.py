"""A little of the matrix, chosen by a seed (`ODRADEK_CHAOS_SEED`): each kind of worker killed, a zombie, the broker;
and of what models, users' code and foreign records do to a run, one of each.
"""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.chaos import matrix
from tests.chaos.arena import opened
from tests.chaos.runner import play
from tests.chaos.scenario import Scenario
from tests.chaos.scenarios.processes import MOMENTS, OWN, in_turn
from tests.chaos.workers import KINDS
from tests.conftest import RunningStack

SEED = int(os.environ.get("ODRADEK_CHAOS_SEED", "1"))
SLOW = ("code/tool/hold", "code/verifier")
"""Quick only on a ground of their own, whose workers lose patience early."""


def struck(seed: int) -> list[Scenario]:
    chance = Random(seed)
    points = {kind: chance.choice([*MOMENTS, *OWN.get(kind, ())[:1]]) for kind in KINDS}
    return [in_turn(points), chance.choice(_named("", "/zombie")), *_named("kafka/", "/kill")]


def _named(start: str, end: str) -> list[Scenario]:
    return [s for s in matrix.SCENARIOS if s.name.startswith(start) and s.name.endswith(end)]


def in_a_bad_world(seed: int) -> list[Scenario]:
    chance = Random(seed)
    return [chance.choice(_quick(kind)) for kind in ("model/", "code/", "effect/", "poison/")]


def _quick(kind: str) -> list[Scenario]:
    named = [scenario for scenario in _named(kind, "") if not scenario.name.startswith(SLOW)]
    return [scenario for scenario in named if not scenario.ruins and not scenario.ground.disks]


def within(seconds: int, scenarios: list[Scenario]) -> list[Any]:
    return [pytest.param(each, id=each.name, marks=pytest.mark.timeout(seconds)) for each in scenarios]


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("scenario", [*within(600, struck(SEED)), *within(300, in_a_bad_world(SEED))])
async def test_a_run_ends_as_it_must(stack: RunningStack, scenario: Scenario, tmp_path: Path) -> None:
    async with opened(stack, tmp_path) as arena:
        result = await play(scenario, arena, SEED)
    assert result.ok, "\n".join(result.notes)
