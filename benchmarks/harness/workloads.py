"""What is played: the tasks of a data set, and the script of the model that plays them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TASKS = 400
"""Different tasks in a data set; the samples of a task share one sealed answer, as in GRPO."""


@dataclass(frozen=True)
class Workload:
    """One kind of rollout. `calls`: model calls of each."""

    name: str
    title: str
    environment: str
    script: str
    calls: int
    rows: tuple[dict[str, Any], ...]

    def write(self, folder: Path) -> Path:
        """The data set as a file."""
        path = folder / f"{self.name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        return path


def _single_turn() -> Workload:
    options = [{letter: f"Possibility {letter} of the case"} for letter in "ABCD"]
    rows = tuple(
        {
            "task": {
                "question": f"Question {i}. " + "Some facts that matter little. " * 12,
                "options": options,
            },
            "answer": {"expected_answer": "A"},
        }
        for i in range(TASKS)
    )
    return Workload("single_turn", "single turn", "mcqa", "instant", 1, rows)


def _multi_step() -> Workload:
    first, second = "Chilly", "Frosty"
    table = f"The term 'Cold' has a synonym '{first}'.\nThe term 'Cold' has a synonym '{second}'."
    answer = {
        "expected_synonyms": [first, second],
        "expected_synonym_values": [sum(map(ord, first)), sum(map(ord, second))],
        "minefield_label": "Cold",
        "minefield_label_value": 386,
    }
    rows = tuple(
        {
            "task": {},
            "messages": [
                {"role": "system", "content": f"Look the values up and extract them.\n{table}"},
                {"role": "user", "content": f"How cold is day {i}?"},
            ],
            "answer": answer,
        }
        for i in range(TASKS)
    )
    return Workload("multi_step", "4 model and 3 tool calls", "example_multi_step", "tool_loop", 4, rows)


SINGLE_TURN = _single_turn()
"""One model call: a multiple-choice question of about 400 characters."""
MULTI_STEP = _multi_step()
"""Four model calls and three tool calls: two look-ups, one extraction, one closing message."""
BOTH = (SINGLE_TURN, MULTI_STEP)
