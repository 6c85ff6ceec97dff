"""What other programs wrote is read as they meant it, and what is written is what they read."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import jsonschema_rs
import pytest
from pydantic_core import from_json, to_json

from odradek.formats import BadRecord, Format, Record, atif, nemo_gym, open_writer, read_records, sft
from odradek.formats.foreign import Source, Tasks
from odradek.formats.lines import line_writer
from odradek.formats.records import recorded_reward
from odradek.plugins import load_environment
from odradek_schemas.events import RecordCoordinates
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import (
    FunctionCall,
    FunctionSpec,
    Message,
    TokenRecord,
    ToolCall,
    ToolSpec,
    Usage,
)
from odradek_schemas.rollouts import Group, ModelStep, RolloutStatus, ToolStep, Trajectory

SCHEMA = Path(__file__).parent / "golden" / "atif.schema.json"
SOURCE = Source("rollouts.jsonl", "old")
PLACE = RecordCoordinates(topic="trajectories", partition=0, offset=7)
WEATHER = ToolSpec(function=FunctionSpec(name="weather", parameters={"type": "object", "properties": {}}))
TOKENS = TokenRecord(prompt_token_ids=[1, 2], completion_token_ids=[3, 4], logprobs=[-0.5, 0.0])


def recordings(name):
    shared = Path(os.environ.get("ODRADEK_SHARED", Path(__file__).parents[4] / "shared"))
    folder = shared / "data" / "nemo-gym" / name
    if not folder.is_dir():
        message = f"no recordings in {folder}; ODRADEK_SHARED says where they are"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture
def weather():
    """A rollout with a tool call, tokens and two replies."""
    call = ToolCall(id="c1", function=FunctionCall(name="weather", arguments='{"city": "Prague"}'))
    trajectory = Trajectory(
        run_id="r",
        rollout_id="r/3/1",
        group=Group(task_id="r/3", size=2),
        sample=1,
        environment="weather",
        harness="tool_calling",
        model="m",
        seed=5,
        task={"city": "Prague"},
        sealed_answer="sealed",
        messages=[
            Message(role="developer", content="Be brief."),
            Message(role="user", content="Weather?"),
            Message(role="assistant", reasoning_content="I look.", tool_calls=[call]),
            Message(role="tool", content="Rain.", tool_call_id="c1"),
            Message(role="assistant", content="It rains."),
        ],
        prompt_messages=2,
        tools=[WEATHER],
        steps=[
            model_step(2, "tool_calls"),
            ToolStep(call_id="r/3/1/1/2", turn=1, message=3, name="weather", latency_ms=4.0),
            model_step(4, "stop"),
        ],
        status=RolloutStatus.COMPLETED,
        usage=Usage(prompt_tokens=4, completion_tokens=4),
        token_coverage=1.0,
        started_at=datetime(2026, 11, 29, tzinfo=UTC),
        finished_at=datetime(2026, 11, 29, 0, 0, 3, tzinfo=UTC),
    )
    reward = recorded_reward(trajectory, PLACE, 0.5, components={"short": 1.0})
    return Record(trajectory, (reward.model_copy(update={"scoring": "primary"}),))


def model_step(message, reason):
    usage = Usage(prompt_tokens=2, completion_tokens=2)
    return ModelStep(
        call_id=f"call/{message}",
        turn=message // 2,
        message=message,
        finish_reason=reason,
        usage=usage,
        latency_ms=9.0,
        tokens=TOKENS,
    )


def without_block(row):
    """As a program would read it that knows nothing of us."""
    row = from_json(to_json(row))
    row.pop("odradek", None)
    if "extra" in row:
        row["extra"].pop("odradek", None)
    return row


def told(trajectory):
    """What any format says of a rollout."""
    steps = [(s.kind, s.message, getattr(s, "tokens", None)) for s in trajectory.steps]
    return (
        trajectory.messages,
        trajectory.prompt_messages,
        trajectory.tools,
        steps,
        trajectory.usage,
        trajectory.model,
    )


@pytest.mark.parametrize("format", [nemo_gym, atif])
def test_what_is_written_tells_a_stranger_the_rollout(weather, format):
    again = format.read(without_block(format.write(weather)), SOURCE, 1)
    assert told(again.trajectory) == told(weather.trajectory)
    assert (again.recorded.reward, again.recorded.components) == (0.5, {"short": 1.0})


def test_a_row_for_nemo_gym_has_its_fields(weather):
    row = nemo_gym.write(weather)
    assert [item["type"] for item in row["response"]["output"]] == [
        "reasoning",
        "function_call",
        "function_call_output",
        "message",
    ]
    carrying = [item["type"] for item in row["response"]["output"] if "generation_token_ids" in item]
    assert carrying == ["function_call", "message"]
    assert (row["_ng_task_index"], row["_ng_rollout_index"]) == (3, 1)
    assert (row["reward"], row["mask_sample"], row["city"]) == (0.5, False, "Prague")
    assert [call["token_stats"]["total_tokens"] for call in row["ng_trajectory"]["model_calls"]] == [4, 4]
    assert row["ng_trajectory"]["tool_calls"][0]["tool_call_id"] == "c1"


def test_an_atif_document_is_valid_by_harbors_models(weather):
    """The schema is made of harbor 0.26's models."""
    document = from_json(to_json(atif.write(weather)))
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(document)
    assert document["schema_version"] == "ATIF-v1.7"
    assert [step["step_id"] for step in document["steps"]] == [1, 2, 3, 4]
    assert document["steps"][2]["observation"]["results"] == [{"source_call_id": "c1", "content": "Rain."}]
    assert document["steps"][2]["tool_calls"][0]["arguments"] == {"city": "Prague"}


@pytest.mark.parametrize("name", ["mcqa", "example_multi_step", "example_single_tool_call"])
def test_real_recordings_are_read_with_their_tasks(name):
    folder = recordings(name)
    environment = load_environment(name)
    rows = [json.loads(line) for line in (folder / "example.jsonl").read_text().splitlines() if line.strip()]
    path = folder / "example_rollouts.jsonl"
    records = list(read_records(path, Format.NEMO_GYM, environment, Tasks.of(environment, rows)))
    expected = [json.loads(line)["reward"] for line in path.read_text().splitlines() if line.strip()]
    assert [record.recorded.reward for record in records] == expected
    assert {record.trajectory.environment for record in records} == {name}
    assert all(record.answer is not None or environment.Answer is None for record in records)
    assert sorted(record.trajectory.group.task_id.rpartition("/")[2] for record in records) == list("01234")


def test_answers_that_were_sealed_elsewhere_come_from_the_data_set(tmp_path, weather):
    environment = load_environment("mcqa")
    asking = {
        "responses_create_params": {"input": "Weather?"},
        "options": [{"A": "x"}],
        "expected_answer": "A",
    }
    tasks = Tasks.of(environment, [asking])
    path = tmp_path / "run.jsonl"
    with open_writer(path, Format.ODRADEK) as writer:
        writer.add(weather)
    (record,) = read_records(path, tasks=tasks)
    assert record.answer == {"expected_answer": "A"}
    assert next(read_records(path)).answer is None


def test_token_ids_of_a_real_recording_are_read():
    path = recordings("competitive_coding_challenges") / "example_rollouts.jsonl"
    records = list(read_records(path))
    assert [record.trajectory.token_coverage for record in records] == [1.0] * 5
    assert sorted(record.trajectory.sample for record in records) == [0, 1, 2, 3, 4]
    for record in records:
        tokens = record.trajectory.steps[0].tokens
        assert (
            len(tokens.completion_token_ids)
            == len(tokens.logprobs)
            == record.trajectory.usage.completion_tokens
        )


def row(**fields):
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]}]
    return {"responses_create_params": {"input": "2+2?"}, "response": {"output": output}, **fields}


def test_a_judge_that_failed_masks_the_reward_and_leaves_the_rollout():
    given = row(reward=0.0, mask_sample=True, failure_kind="judge_failed", failure_reason="no answer")
    record = nemo_gym.read(given, SOURCE, 1)
    assert (record.recorded.reward, record.recorded.masked) == (None, True)
    assert record.recorded.failure.message == "judge_failed: no answer"
    assert (record.trajectory.status, record.trajectory.failure) == (RolloutStatus.COMPLETED, None)
    again = nemo_gym.write(record, "recorded")
    assert (again["failure_kind"], again["mask_sample"], again["reward"]) == ("judge_failed", True, 0.0)


def test_a_rollout_that_its_agent_failed_is_a_failed_one():
    given = row(reward=0.0, mask_sample=True, failure_kind="agent_timeout")
    trajectory = nemo_gym.read(given, SOURCE, 1).trajectory
    assert (trajectory.status, trajectory.failure.kind) == (
        RolloutStatus.FAILED,
        FailureKind.ROLLOUT_DEADLINE,
    )


def test_a_degraded_sample_that_still_counts_keeps_its_reward():
    record = nemo_gym.read(row(reward=1.0, failure_kind="transport_timeout"), SOURCE, 1)
    assert (record.recorded.reward, record.recorded.masked) == (1.0, False)
    assert record.trajectory.status is RolloutStatus.COMPLETED


def test_what_was_observed_of_a_rollout_is_read_from_ng_trajectory():
    observed = {
        "model_calls": [
            {
                "started_at": 100.0,
                "completed_at": 101.0,
                "duration_ms": 1000.0,
                "token_stats": {"prompt_tokens": 7, "completion_tokens": 2},
                "response_metadata": {"finish_reason": "length"},
            }
        ]
    }
    trajectory = nemo_gym.read(row(ng_trajectory=observed), SOURCE, 1).trajectory
    (step,) = trajectory.steps
    assert (step.usage, step.latency_ms, step.finish_reason) == (
        Usage(prompt_tokens=7, completion_tokens=2),
        1000.0,
        "length",
    )
    assert (trajectory.finished_at - trajectory.started_at).total_seconds() == 1.0


def test_a_row_that_somebody_changed_is_not_taken_for_ours(weather):
    changed = from_json(to_json(nemo_gym.write(weather)))
    changed["response"]["output"].pop()
    with pytest.raises(BadRecord, match="somebody changed it"):
        nemo_gym.read(changed, SOURCE, 1)


def test_a_plain_atif_document_of_another_agent_is_read():
    document = {
        "schema_version": "ATIF-v1.2",
        "agent": {"name": "codex", "version": "1", "model_name": "gpt"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "List.", "timestamp": "2026-01-01T00:00:00Z"},
            {
                "step_id": 2,
                "source": "agent",
                "message": "",
                "tool_calls": [{"tool_call_id": "a", "function_name": "ls", "arguments": {"path": "/"}}],
                "observation": {"results": [{"source_call_id": "a", "content": "bin"}]},
                "metrics": {"prompt_tokens": 5, "completion_tokens": 2},
            },
            {"step_id": 3, "source": "agent", "message": "bin", "timestamp": "2026-01-01T00:00:09Z"},
        ],
    }
    trajectory = atif.read(document, SOURCE, 4).trajectory
    assert [m.role for m in trajectory.messages] == ["user", "assistant", "tool", "assistant"]
    assert trajectory.messages[1].tool_calls[0].function.arguments == '{"path":"/"}'
    assert (trajectory.prompt_messages, trajectory.turns, trajectory.harness) == (1, 2, "codex")
    assert trajectory.usage.total_tokens == 7
    assert (trajectory.finished_at - trajectory.started_at).total_seconds() == 9


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"schema_version": "ATIF-v9", "agent": {}, "steps": []}, "schema_version"),
        ({"responses_create_params": {}, "response": {"output": 3}}, "response.output"),
        ({"trajectory": {"run_id": "r"}}, "trajectory.rollout_id"),
        ({"neither": 1}, ""),
    ],
)
def test_what_is_wrong_with_a_row_is_said(tmp_path, given, field):
    path = tmp_path / "rollouts.jsonl"
    path.write_text("\n" + json.dumps(given) + "\n")
    with pytest.raises(BadRecord) as error:
        list(read_records(path))
    assert (error.value.line, error.value.field) == (2, field)


def test_a_damaged_archive_is_said_to_be(tmp_path, weather):
    path = tmp_path / "a.jsonl.zst"
    with open_writer(path, Format.ODRADEK) as writer:
        for _ in range(50):
            writer.add(weather)
    assert len(list(read_records(path))) == 50
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadRecord):
        list(read_records(path))


def test_chat_examples_have_messages_and_tools(weather):
    (example,) = sft.write(weather)
    assert [message["role"] for message in example["messages"]] == [
        "developer",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert example["messages"][2]["tool_calls"][0]["function"]["name"] == "weather"
    assert example["tools"][0]["function"]["name"] == "weather"
    assert example["reward"] == 0.5


def test_each_conversation_of_a_program_is_an_example_once(weather):
    """A second call goes on with the first one's talk, a third begins another."""
    steps = [
        model_step(2, "stop").model_copy(update={"context": [0, 1], "offered": [0]}),
        model_step(4, "stop").model_copy(update={"context": [0, 1, 2, 3], "offered": []}),
        model_step(4, "stop").model_copy(update={"context": [1]}),
    ]
    trajectory = weather.trajectory.model_copy(update={"steps": steps})
    examples = list(sft.write(weather._replace(trajectory=trajectory)))
    assert [len(example["messages"]) for example in examples] == [5, 2]
    assert ["tools" in example for example in examples] == [False, True]


def test_a_data_set_has_the_layout_of_hugging_faces(tmp_path, weather):
    parquet = pytest.importorskip("pyarrow.parquet")
    with open_writer(tmp_path / "set", Format.HF) as writer:
        for _ in range(3):
            writer.add(weather)
    card = (tmp_path / "set" / "README.md").read_text()
    assert "path: data/*.parquet" in card
    assert "3 rollouts" in card
    table = parquet.read_table(tmp_path / "set" / "data" / "train-00000.parquet")
    first = table.to_pylist()[0]
    assert (first["rollout_id"], first["reward"], first["turns"]) == ("r/3/1", 0.5, 2)
    assert first["components"] == [{"name": "short", "value": 1.0}]
    assert first["messages"][2]["tool_calls"] == [
        {"id": "c1", "name": "weather", "arguments": '{"city": "Prague"}'}
    ]
    assert list(read_records(tmp_path / "set")) == [weather] * 3


def test_lines_are_compressed_where_the_name_says_so(tmp_path):
    with line_writer(tmp_path / "a.jsonl.zst") as file:
        file.write(b"{}\n" * 1000)
    assert (tmp_path / "a.jsonl.zst").stat().st_size < 100
