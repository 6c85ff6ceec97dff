"""Trajectories scored again on a whole stack: beside the first rewards, once each, whatever dies."""

import json
from pathlib import Path

import pytest

from tests.conftest import RunningStack
from tests.e2e.test_command import odradek

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def run(stack: RunningStack, shared_data: Path) -> str:
    """A finished run of 20 rollouts; its id."""
    given = shared_data / "mcqa" / "example.jsonl"
    told = odradek(stack, "run", "mcqa", "--model", "mcqa", "--samples", "4", "--input", str(given), "--json")
    return str(json.loads(told)["run_id"])


def rescored(stack: RunningStack, *arguments: str) -> dict[str, dict[str, int]]:
    return json.loads(odradek(stack, "rescore", *arguments, "--json"))


async def test_nothing_changes_where_nothing_has_changed(stack: RunningStack, run: str) -> None:
    difference = rescored(stack, "--run", run)
    assert difference["counts"] == {
        "unchanged": 20,
        "changed": 0,
        "newly_failed": 0,
        "newly_scored": 0,
        "new": 0,
    }
    assert difference["verifiers_before"] == difference["verifiers_after"]


def test_a_world_that_is_gone_is_scored_by_what_the_record_kept_of_it(
    stack: RunningStack, shared_data: Path
) -> None:
    name = "example_session_state_mgmt"
    given = str(shared_data / name / "example.jsonl")
    told = odradek(stack, "run", name, "--model", "tool_loop", "--input", given, "--json")
    run = json.loads(told)["run_id"]
    difference = rescored(stack, "--run", run)
    assert difference["counts"]["unchanged"] == sum(difference["counts"].values()) == 5
    scores = json.loads(odradek(stack, "rewards", f"{run}/0/0", "--json"))
    assert [score["reward"] for score in scores] == [1.0, 1.0]


async def test_a_worker_that_dies_in_the_middle_scores_each_once(stack: RunningStack, run: str) -> None:
    (stack.faults / "verifier-worker.verify.answered").write_text("kill")
    first = rescored(stack, "--run", run, "--id", "once", "--environment", "mcqa")
    assert list(stack.faults.glob("verifier-worker.verify.answered.*")), "the worker did not die"
    again = rescored(stack, "--run", run, "--id", "once", "--environment", "mcqa")
    assert first == again
    assert first["counts"]["unchanged"] == 20
    seen = await stack.log.read(run, "rewards")
    mine = [reward for reward in seen.rewards() if reward.scoring == "once"]
    assert len(mine) == len({reward.rollout_id for reward in mine}) == 20
    assert json.loads(odradek(stack, "results", run, "--json"))["duplicates"] == 0
    assert json.loads(odradek(stack, "audit", run, "--json"))["verdict"] == "clean"
    told = json.loads(odradek(stack, "rewards", f"{run}/0/0", "--json"))
    assert {"primary", "once"} <= {reward["scoring"] for reward in told}


def test_another_wish_under_the_same_id_is_refused(stack: RunningStack, run: str) -> None:
    rescored(stack, "--run", run, "--id", "mine")
    odradek(stack, "rescore", "--run", run, "--id", "mine", "--verifier", "workspace", code=4)


def test_another_verifier_that_can_not_read_the_answers_masks_them(stack: RunningStack, run: str) -> None:
    difference = rescored(stack, "--run", run, "--verifier", "example_session_state_mgmt")
    assert difference["counts"]["newly_failed"] == 20


def test_a_dry_run_writes_nothing(stack: RunningStack, run: str) -> None:
    told = json.loads(odradek(stack, "rescore", "--run", run, "--dry-run", "--json"))
    assert told["trajectories"] == 20
    assert told["verifiers_before"] == [told["verifier_now"]]


def test_what_can_not_be_meant_is_refused(stack: RunningStack, run: str) -> None:
    odradek(stack, "rescore", code=2)
    odradek(stack, "rescore", "--run", "no-such-run", code=4)
    odradek(stack, "rescore", "--run", run, "--verifier", "no-such-verifier", code=4)
    odradek(stack, "rescore", "--run", run, "--set", "x", code=4)
    odradek(stack, "rescore", "--since", "yesterday", code=4)
    odradek(stack, "rescore", "--file", "/no/such/file", code=4)


def test_a_run_that_was_exported_is_scored_with_the_stacks_own_key(
    stack: RunningStack, run: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.jsonl"
    odradek(stack, "export", run, "--output", str(file))
    assert rescored(stack, "--file", str(file))["counts"]["unchanged"] == 20


def test_a_file_is_scored_without_a_log(stack: RunningStack, shared_data: Path) -> None:
    folder = shared_data / "mcqa"
    file, tasks = str(folder / "example_rollouts.jsonl"), str(folder / "example.jsonl")
    difference = rescored(stack, "--file", file, "--environment", "mcqa", "--tasks", tasks)
    assert difference["counts"]["unchanged"] == 4
    assert difference["counts"]["changed"] == 1  # its recorded reward is stale
