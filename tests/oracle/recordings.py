"""The recorded rollouts of NeMo Gym's servers, where they are at hand: `ODRADEK_SHARED`, else `shared` beside the checkout."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from odradek import JsonObject, Message
from odradek.dialects.nemo_gym import GymRollout, read_parameters, read_rollout

_BESIDE = Path(__file__).parents[3] / "shared"


@dataclass(frozen=True)
class Recording:
    """A rollout that was recorded, as a model and as the `row` it was read from, and its task's row.

    Where a rollout's task is not among the example tasks, its own row, which may lack fields, stands in for it.
    """

    task: JsonObject
    rollout: GymRollout
    row: JsonObject


def home() -> Path:
    """The folder that holds one folder an environment."""
    return Path(os.environ.get("ODRADEK_SHARED", _BESIDE)) / "data" / "nemo-gym"


def folder(name: str) -> Path:
    return home() / name


def names() -> list[str]:
    """The environments that something is recorded of."""
    return sorted(path.parent.name for path in home().glob("*/example_rollouts.jsonl"))


def read(name: str) -> list[Recording]:
    """The recordings of an environment, in the order of the file; joined to their tasks by the user's text."""
    tasks = {_asked(read_parameters(row).messages): row for row in _rows(folder(name) / "example.jsonl")}
    found = [(read_rollout(row), row) for row in _rows(folder(name) / "example_rollouts.jsonl")]
    return [
        Recording(tasks.get(_asked(rollout.request.messages), row), rollout, row) for rollout, row in found
    ]


def _rows(path: Path) -> list[JsonObject]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _asked(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages if message.role == "user")
