"""Rollouts that were recorded elsewhere come into the log as a run, and a run's come out of it, on a real broker."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from odradek.formats import read_records
from odradek_cli.deployment import find_deployment
from odradek_cli.errors import Exit
from odradek_cli.kafka import Found, open_log
from odradek_runtime.sealing import Opener, create_keys
from odradek_schemas.events import RewardAssigned
from odradek_schemas.topics import REWARDS, TRAJECTORIES, Topic

pytestmark = pytest.mark.kafka

COUNT = "Add 2, then get the count."


def read(topic: Topic) -> list[Any]:
    """What is on a topic, by rollout."""

    async def scan() -> list[Found]:
        async with open_log(find_deployment()) as log:
            return await log.scan(topic)

    return sorted((found.event for found in asyncio.run(scan())), key=lambda event: event.rollout_id)


def lettered(question: str, letter: str, reward: float, **more: Any) -> dict[str, Any]:
    """A rollout of `mcqa` as NeMo Gym records it."""
    content = [{"type": "output_text", "text": f"\\boxed{{{letter}}}"}]
    return {
        "responses_create_params": {"input": [{"role": "user", "content": question}]},
        "options": [{"A": "one"}, {"B": "two"}],
        "expected_answer": "B",
        "response": {"model": "m", "output": [{"type": "message", "role": "assistant", "content": content}]},
        "reward": reward,
        **more,
    }


def counted() -> dict[str, Any]:
    """A rollout of a counter that begins at 5: a tool is called."""
    output = [
        {"type": "function_call", "call_id": "c1", "name": "increment_counter", "arguments": '{"count": 2}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"success":true}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "7"}]},
    ]
    return {
        "responses_create_params": {"input": COUNT},
        "initial_count": 5,
        "expected_count": 7,
        "response": {"model": "m", "output": output},
        "reward": 1.0,
    }


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    create_keys(tmp_path / "public", tmp_path / "private")
    monkeypatch.setenv("ODRADEK_SEALING_PUBLIC_KEY_FILE", str(tmp_path / "public"))
    return Opener.from_file(tmp_path / "private")


def written(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def scored(event: Any, reward: float) -> RewardAssigned:
    """What a verifier-worker would say of an imported trajectory."""
    recorded = next(r for r in read(REWARDS) if r.rollout_id == event.rollout_id)
    fields = {"id": f"{event.rollout_id}/reward/primary", "scoring": "primary", "reward": reward}
    return RewardAssigned.model_validate(recorded.model_dump() | fields)


def test_a_file_is_imported_once_and_scored_beside_what_it_recorded(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path
) -> None:
    file = written(
        tmp_path / "rollouts.jsonl",
        lettered("Q1", "B", 1.0),
        lettered("Q2", "A", 0.0),
        lettered("Q1", "A", 0.0),
    )
    command = ("import", file, "--environment", "mcqa", "--run-id", "old")
    first = odradek(*command)
    assert (first.exit_code, first.stdout) == (0, "old: 3 of 3 rollouts of mcqa imported\n"), first.stderr

    trajectories = read(TRAJECTORIES)
    assert [event.rollout_id for event in trajectories] == ["old/0/0", "old/0/1", "old/1/0"]
    assert [event.trajectory.group.size for event in trajectories] == [2, 2, 1]
    assert keys.open(trajectories[0].trajectory.sealed_answer) == {"expected_answer": "B"}
    assert "expected_answer" not in trajectories[0].trajectory.model_dump_json()
    assert [(r.scoring, r.reward) for r in read(REWARDS)] == [("recorded", r) for r in (1.0, 0.0, 0.0)]

    again = odradek(*command)
    assert again.stdout == "old: 0 of 3 rollouts of mcqa imported\n"
    assert "3 were there already" in again.stderr
    assert len(read(TRAJECTORIES)) == len(read(REWARDS)) == 3

    assert odradek("audit", "old").exit_code == Exit.UNFINISHED
    world.write(*(scored(event, 1.0) for event in trajectories))
    results = json.loads(odradek("results", "old", "--json").stdout)
    assert (results["status"], results["planned"], results["mean_reward"]["value"]) == ("imported", 3, 1.0)
    assert "reward of scoring recorded" in odradek("show", "old/0/0").stdout
    audited = odradek("audit", "old")
    assert audited.exit_code == Exit.OK, audited.stdout
    assert "is imported; 3 rollouts planned, 3 rewarded" in audited.stdout
    assert [run["status"] for run in json.loads(odradek("runs", "--json").stdout)] == ["imported"]
    assert odradek("watch", "old").exit_code == Exit.INVALID_INPUT


def test_an_import_that_was_cut_short_goes_on(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from odradek_cli import adoption

    monkeypatch.setattr(adoption, "PIECE", 2)
    file = written(tmp_path / "rollouts.jsonl", *(lettered(f"Q{n}", "B", 1.0) for n in range(5)))
    command = ("import", file, "--environment", "mcqa", "--run-id", "old")
    real, left = adoption.finished, iter(range(3))

    def breaks(*given: Any) -> Any:
        next(left)
        return real(*given)

    monkeypatch.setattr(adoption, "finished", breaks)
    assert odradek(*command).exit_code != 0
    monkeypatch.setattr(adoption, "finished", real)
    assert [event.rollout_id for event in read(TRAJECTORIES)] == ["old/0/0", "old/1/0"]
    assert "3 of 5 rollouts" in odradek(*command).stdout
    assert [event.rollout_id for event in read(TRAJECTORIES)] == [f"old/{n}/0" for n in range(5)]
    assert len(read(REWARDS)) == 5


def test_bad_rows_are_named_and_nothing_is_imported(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path
) -> None:
    path = tmp_path / "rollouts.jsonl"
    file = written(path, lettered("Q1", "B", 1.0), lettered("Q2", "A", 0.0, options=None), {"reward": 1})
    with path.open("a") as more:
        more.write("{torn\n")
    refused = odradek("import", file, "--environment", "mcqa", "--format", "nemo-gym")
    assert refused.exit_code == Exit.INVALID_INPUT
    assert "3 rows of" in refused.stderr
    assert "rollouts.jsonl:2: Value error, options must give" in refused.stderr
    assert "rollouts.jsonl:3: responses_create_params: must be an object" in refused.stderr
    assert "rollouts.jsonl:4: is not JSON" in refused.stderr
    assert "--skip-bad" in refused.stderr
    assert read(TRAJECTORIES) == []

    skipped = odradek("import", file, "--environment", "mcqa", "--skip-bad", "--run-id", "old", "--json")
    told = json.loads(skipped.stdout)
    assert (told["written"], told["skipped"]) == (1, 3)


def test_another_file_does_not_go_into_a_run_that_is_there(
    world: Any, makes: Any, odradek: Any, keys: Opener, tmp_path: Path
) -> None:
    world.write(makes.run("played"))
    one = written(tmp_path / "one.jsonl", lettered("Q1", "B", 1.0))
    two = written(tmp_path / "two.jsonl", lettered("Q1", "A", 0.0))
    assert odradek("import", one, "--environment", "mcqa", "--run-id", "old").exit_code == 0
    for file, run_id in ((two, "old"), (one, "played")):
        refused = odradek("import", file, "--environment", "mcqa", "--run-id", run_id)
        assert refused.exit_code == Exit.INVALID_INPUT
        assert f"there is a run '{run_id}' already" in refused.stderr
    assert len(read(TRAJECTORIES)) == 1


def test_a_session_is_built_again_for_its_evidence(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path
) -> None:
    file = written(tmp_path / "rollouts.jsonl", counted())
    result = odradek(
        "import", file, "--environment", "example_session_state_mgmt", "--run-id", "old", "--json"
    )
    told = json.loads(result.stdout)
    assert (told["worlds_rebuilt"], told["tool_outputs_that_differ"]) == (1, 0)
    (event,) = read(TRAJECTORIES)
    assert event.trajectory.evidence == {"count": 7}


def test_tasks_come_from_the_data_set_where_rollouts_lack_them(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path
) -> None:
    lacking = [lettered("Q2", "B", 1.0), lettered("Q2", "A", 0.0)]
    for row in lacking:
        del row["options"]
    tasks = written(tmp_path / "tasks.jsonl", lettered("Q1", "", 0), lettered("Q2", "", 0))
    file = written(tmp_path / "rollouts.jsonl", *lacking)
    result = odradek("import", file, "--environment", "mcqa", "--tasks", tasks, "--run-id", "old")
    assert result.exit_code == 0, result.stderr
    assert [event.rollout_id for event in read(TRAJECTORIES)] == ["old/1/0", "old/1/1"]


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.zst", "run.parquet"])
def test_a_run_is_exported_and_comes_back(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path, name: str
) -> None:
    file = written(tmp_path / "rollouts.jsonl", *(lettered(f"Q{n}", "B", float(n % 2)) for n in range(4)))
    assert odradek("import", file, "--environment", "mcqa", "--run-id", "old").exit_code == 0
    format = "parquet" if name.endswith("parquet") else "odradek"
    output = tmp_path / name
    exported = odradek("export", "old", "--output", str(output), "--format", format, "--scoring", "recorded")
    assert exported.stdout == f"{output}: 4 rollouts in 4 rows\n", exported.stderr
    kept = {record.trajectory.rollout_id: record for record in read_records(output)}
    assert {event.rollout_id: event.trajectory for event in read(TRAJECTORIES)} == {
        key: record.trajectory for key, record in kept.items()
    }
    assert {r.rollout_id: (r,) for r in read(REWARDS)} == {
        key: record.rewards for key, record in kept.items()
    }

    again = odradek("export", "old", "--output", str(output))
    assert (again.exit_code, "there already" in again.stderr) == (Exit.INVALID_INPUT, True)
    back = odradek("import", str(output), "--run-id", "back", "--json")
    assert json.loads(back.stdout)["written"] == 4, back.stderr
    assert {t.rollout_id for t in read(TRAJECTORIES)} == {
        f"{run}/{n}/0" for run in ("old", "back") for n in range(4)
    }


@pytest.mark.parametrize(("format", "rows"), [("nemo-gym", 2), ("atif", 2), ("sft", 2), ("odradek", 2)])
def test_only_good_rollouts_are_exported(
    world: Any, odradek: Any, keys: Opener, tmp_path: Path, format: str, rows: int
) -> None:
    file = written(tmp_path / "rollouts.jsonl", *(lettered(f"Q{n}", "B", float(n % 2)) for n in range(4)))
    assert odradek("import", file, "--environment", "mcqa", "--run-id", "old").exit_code == 0
    output = tmp_path / "good.jsonl"
    odradek(
        *("export", "old", "--output", str(output), "--format", format),
        *("--scoring", "recorded", "--min-reward", "1"),
    )
    assert len(output.read_text().splitlines()) == rows
    assert not list(tmp_path.glob("*.part"))
