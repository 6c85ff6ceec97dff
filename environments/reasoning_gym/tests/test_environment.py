import importlib.util
import json

import pytest

from odradek import RowError
from odradek.testing import play
from odradek_reasoning_gym import ReasoningGym
from odradek_reasoning_gym.replies import extract

ROW = {
    "task": {"question": "How many legs has a dog?"},
    "answer": {"answer": "4", "metadata": {"source_dataset": "leg_counting"}},
}


def rows():
    return [json.loads(line) for line in ReasoningGym().examples().read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>4</answer>", "4"),
        ("<answer> 4\n</answer> or <answer>\n5 </answer>", "5"),
        ("<answer>a\nb</answer>", "a\nb"),
        (r"<answer>4</answer> \boxed{5}", "4"),
        (r"so \boxed{ 4 }, or \boxed{5}", "4"),
        (r"\boxed{}4", r"\boxed{}4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1"),
        ("<answer>4", "<answer>4"),
        (" 4 \n", "4"),
        ("", ""),
    ],
)
def test_where_the_answer_is(text, answer):
    assert extract(text) == answer


def test_the_prompt_asks_for_tags_and_the_answer_stays_out():
    row = ReasoningGym().split(ROW)
    assert "legs has a dog" in row.messages[0].text
    assert "<answer>" in row.messages[0].text
    assert set(row.task) == {"question"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"metadata": {"source_dataset": "gcd"}}, "answer"),
        ({"answer": "4"}, "metadata"),
        ({"answer": "4", "metadata": {}}, "source_dataset"),
        ({"answer": "4", "metadata": {"source_dataset": 4}}, "source_dataset"),
    ],
)
def test_rows_that_can_not_be_scored_are_refused(answer, reason):
    with pytest.raises(RowError, match=reason):
        ReasoningGym().split({**ROW, "answer": answer})


@pytest.mark.skipif(
    importlib.util.find_spec("reasoning_gym") is not None, reason="reasoning-gym is installed"
)
def test_without_the_library_there_is_no_reward_and_not_a_zero():
    ReasoningGym().warm_up()
    assert play(ReasoningGym(), ROW, ["<answer>4</answer>"]).reward is None


def test_there_are_enough_examples_and_they_fit():
    assert len(rows()) >= 20
    assert len({row["answer"]["metadata"]["source_dataset"] for row in rows()}) == len(rows())
    for row in rows():
        assert ReasoningGym().split(row).answer == row["answer"]


def test_the_recorded_rows_fit(recordings):
    for row in recordings("reasoning_gym"):
        task = ReasoningGym().split(row.task)
        assert task.answer["answer"] == row.task["answer"]
        assert "solution" not in json.dumps(task.task)
