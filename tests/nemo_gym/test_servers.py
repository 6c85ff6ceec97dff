"""Unmodified servers of NeMo Gym 0.7.0: what was recorded of them comes out again through the bridge."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from odradek import JsonObject
from odradek.dialects.nemo_gym import read_rollout
from odradek.testing import Played, call, play_async
from odradek_nemo_gym import NemoGym
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import Limits
from tests.nemo_gym.conftest import Bridged, rows

pytestmark = [pytest.mark.nemo_gym, pytest.mark.timeout(900)]

Recorded = Callable[[str], list[tuple[JsonObject, JsonObject]]]

STALE = {("mcqa", 2): 1.0}
"""A recorded 0 that is older than the rule of 0.7.0: its box holds a letter with the option's text behind it."""


async def replayed(environment: NemoGym, task: JsonObject, rollout: JsonObject) -> Played:
    return await play_async(environment, task, read_rollout(rollout).replies)


def read(observations: list[str]) -> list[JsonValue]:
    """What they say: their spaces are those of the version that wrote them."""
    return [from_json(text) for text in observations]


def scored_again(played: Played, **settings: object) -> float:
    """From what was kept, with no server to be reached."""
    evidence = json.loads(played.trajectory.sealed_evidence or "null")
    environment = NemoGym({"server_url": "http://127.0.0.1:9", **settings})
    return environment.verify(played.trajectory.model_copy(update={"evidence": evidence}), None).reward


@pytest.mark.parametrize(
    "name",
    [
        "mcqa",
        "example_single_tool_call",
        "example_session_state_mgmt",
        "example_multi_step",
        "reasoning_gym",
    ],
)
async def test_recorded_rewards_come_out_again(bridged: Bridged, recorded: Recorded, name: str) -> None:
    environment = bridged(name)
    pairs = recorded(name)
    assert len(pairs) == 5
    for index, (task, rollout) in enumerate(pairs):
        played = await replayed(environment, task, rollout)
        assert read(played.observations) == read(read_rollout(rollout).observations)
        assert played.reward is not None
        assert played.reward.reward == STALE.get((name, index), rollout["reward"])
        assert scored_again(played) == played.reward.reward


async def test_the_server_s_own_numbers_come_back(bridged: Bridged, recorded: Recorded) -> None:
    names = ["accuracy", "set_overlap", "original_term_minefield_hit"]
    environment = bridged("example_multi_step", components=names)
    for task, rollout in recorded("example_multi_step"):
        played = await replayed(environment, task, rollout)
        assert played.reward is not None
        assert played.reward.components == {name: float(rollout[name]) for name in names}


async def test_the_office_does_what_it_did(bridged: Bridged, shared_data: Path) -> None:
    """The recorded rollouts are of other tasks than those that are shipped, so their truth is not known: all eight
    outputs of tools are as recorded."""
    environment = bridged("workplace_assistant")
    unknown = {"ground_truth": [], "id": 0, "category": "?", "environment_name": "?"}
    seen = []
    for rollout in rows(shared_data / "workplace_assistant" / "example_rollouts.jsonl"):
        played = await replayed(environment, rollout | unknown, rollout)
        assert read(played.observations) == read(read_rollout(rollout).observations)
        seen += played.observations
    assert len(seen) == 8


@pytest.mark.parametrize(("done", "reward"), [(True, 1.0), (False, 0.0)])
async def test_the_office_rewards_who_does_as_the_truth(
    bridged: Bridged, shared_data: Path, done: bool, reward: float
) -> None:
    environment = bridged("workplace_assistant")
    for row in rows(shared_data / "workplace_assistant" / "example.jsonl"):
        steps = (
            [call(step["name"], **json.loads(step["arguments"])) for step in row["ground_truth"]]
            if done
            else []
        )
        played = await play_async(environment, row, [*([steps] if steps else []), "Done."])
        assert played.reward is not None
        assert played.reward.reward == reward


async def test_a_row_that_is_none_of_the_server_s_is_refused(bridged: Bridged, recorded: Recorded) -> None:
    task = recorded("example_session_state_mgmt")[0][0] | {"initial_count": "many"}
    played = await play_async(bridged("example_session_state_mgmt"), task, [], limits=Limits(max_attempts=1))
    assert played.trajectory.failure is not None
    assert played.trajectory.failure.kind is FailureKind.INVALID_REQUEST
    assert "initial_count" in played.trajectory.failure.message


@pytest.mark.parametrize(("name", "once"), [("mcqa", False), ("example_session_state_mgmt", True)])
async def test_servers_say_whether_they_verify_again(
    bridged: Bridged, recorded: Recorded, name: str, once: bool
) -> None:
    environment = bridged(name)
    state = await environment.open(environment.Task(), environment.Answer(row=recorded(name)[0][0]), 0)
    assert environment.gathers_once(state) is once
