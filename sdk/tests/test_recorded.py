"""Real recordings of ten NeMo Gym servers are read as they are."""

import json
import os
from pathlib import Path

import pytest

from odradek.dialects.nemo_gym import read_parameters, read_rollout

SERVERS = (
    "code_gen",
    "competitive_coding_challenges",
    "example_multi_step",
    "example_session_state_mgmt",
    "example_single_tool_call",
    "instruction_following",
    "math_with_judge",
    "mcqa",
    "reasoning_gym",
    "workplace_assistant",
)


@pytest.fixture
def shared():
    folder = (
        Path(os.environ.get("ODRADEK_SHARED", Path(__file__).parents[3] / "shared")) / "data" / "nemo-gym"
    )
    if not folder.is_dir():
        message = f"no recordings in {folder}; ODRADEK_SHARED says where they are"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


@pytest.mark.parametrize("server", SERVERS)
def test_each_task_and_rollout_is_read(shared, server):
    for row in rows(shared / server / "example.jsonl"):
        request = read_parameters(row)
        assert request.messages[-1].role == "user"
        assert len(request.tools) == len(row["responses_create_params"].get("tools") or [])

    for row in rows(shared / server / "example_rollouts.jsonl"):
        rollout = read_rollout(row)
        output = row["response"]["output"]
        kinds = [item["type"] for item in output]
        calls = [call for reply in rollout.replies for call in reply.tool_calls or []]
        texts = [part["text"] for item in output if item["type"] == "message" for part in item["content"]]
        assert rollout.reward == row["reward"]
        assert len(calls) == kinds.count("function_call")
        assert len(rollout.observations) == kinds.count("function_call_output")
        assert "".join(reply.text for reply in rollout.replies) == "".join(texts)
        assert rollout.usage.total_tokens == (row["response"]["usage"] or {"total_tokens": 0})["total_tokens"]
