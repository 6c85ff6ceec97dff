"""Recorded rollouts of NeMo Gym's servers, for the environments that behave as they do."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from odradek import JsonObject, Message
from odradek.dialects.nemo_gym import GymRollout, read_parameters, read_rollout


@dataclass(frozen=True)
class Recording:
    """A task's row and a rollout that was recorded of it."""

    task: JsonObject
    rollout: GymRollout


def _folder(name: str) -> Path:
    shared = Path(os.environ.get("ODRADEK_SHARED", Path(__file__).parents[2] / "shared"))
    folder = shared / "data" / "nemo-gym" / name
    if not folder.is_dir():
        message = f"no recorded rollouts in {folder}; ODRADEK_SHARED says where they are"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


def _rows(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _asked(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages if message.role == "user")


@pytest.fixture
def recordings() -> Callable[[str], list[Recording]]:
    """The recordings of an environment, in the order of the file; joined to their tasks by the user's text."""

    def read(name: str) -> list[Recording]:
        folder = _folder(name)
        tasks = {_asked(read_parameters(row).messages): row for row in _rows(folder / "example.jsonl")}
        rollouts = [read_rollout(row) for row in _rows(folder / "example_rollouts.jsonl")]
        return [Recording(tasks[_asked(rollout.request.messages)], rollout) for rollout in rollouts]

    return read


@pytest.fixture
def gym_rows() -> Callable[[str, str], list[JsonObject]]:
    """The rows of one of an environment's files, `example.jsonl` or `example_rollouts.jsonl`, as they are."""
    return lambda name, file: _rows(_folder(name) / file)
