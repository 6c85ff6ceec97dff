"""What the library makes of answers. `make test-reasoning-gym` installs it."""

import json

import pytest

from odradek.testing import play
from odradek_reasoning_gym import ReasoningGym

pytestmark = pytest.mark.reasoning_gym


def rows():
    return [json.loads(line) for line in ReasoningGym().examples().read_text().splitlines()]


def score(row, text):
    return play(ReasoningGym(), row, [text]).reward


def test_each_recorded_reward_comes_out_again(recordings):
    recorded = recordings("reasoning_gym")
    assert len(recorded) == 5

    ours = [play(ReasoningGym(), row.task, row.rollout.replies).reward for row in recorded]

    assert (
        [reward.reward for reward in ours]
        == [row.rollout.reward for row in recorded]
        == [1.0, 1.0, 0.0, 0.0, 0.0]
    )
    for reward, row in zip(ours, recorded, strict=True):
        assert reward.details["extracted_answer"] == row.row["extracted_answer"].strip()
        assert reward.details["task_name"] == row.row["task_name"]


def test_no_row_is_right_by_chance(recordings):
    played = [play(ReasoningGym(), row.task, ["I do not know."]) for row in recordings("reasoning_gym")]
    assert [one.reward.reward for one in played] == [0.0] * 5


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_can_be_solved_and_failed(row):
    answer = row["answer"]["answer"]
    assert score(row, f"<answer>{answer}</answer>").reward == 1.0
    assert score(row, "I do not know.").reward < 0.2


def test_what_a_scorer_can_not_read_is_worth_nothing():
    row = next(row for row in rows() if row["id"].startswith("prime_factorization"))
    reward = score(row, "<answer>two</answer>")
    assert (reward.reward, reward.components["unreadable"]) == (0.0, 1.0)
    assert "ValueError" in reward.details["problem"]


def test_an_unknown_data_set_gives_no_reward():
    row = rows()[0]
    answer = row["answer"] | {"metadata": {"source_dataset": "nothing"}}
    assert score(row | {"answer": answer}, "<answer>4</answer>") is None
