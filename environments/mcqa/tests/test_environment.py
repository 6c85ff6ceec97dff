import json

import pytest

from odradek.testing import play
from odradek.verifiers.choices import GradingMode
from odradek_mcqa import Mcqa

TASK = {
    "question": "Which has no corners?",
    "options": [{"A": "Circle"}, {"B": "Square"}],
    "grading_mode": "strict_single_letter_boxed",
}


def rows():
    return [json.loads(line) for line in Mcqa().examples().read_text().splitlines()]


def form(row, letter):
    return f"\\boxed{{{letter}}}" if "boxed" in row["task"]["grading_mode"] else f"Answer: {letter}"


def test_right_and_wrong_and_none():
    row = {"task": TASK, "answer": {"expected_answer": " a "}}
    right, wrong, none = (
        play(Mcqa(), row, [text]).reward for text in (r"\boxed{A}", r"\boxed{B}", "I do not know.")
    )
    assert (right.reward, right.components) == (1.0, {"accuracy": 1.0, "no_answer": 0.0})
    assert (wrong.reward, wrong.components) == (0.0, {"accuracy": 0.0, "no_answer": 0.0})
    assert (none.reward, none.components) == (0.0, {"accuracy": 0.0, "no_answer": 1.0})
    assert wrong.details == {"extracted_answer": "B"}


def test_the_reward_does_not_tell_the_answer():
    row = {"task": TASK, "answer": {"expected_answer": "A"}}
    wrong = play(Mcqa(), row, [r"\boxed{B}"])
    assert '"A"' not in wrong.reward.model_dump_json()


def test_an_empty_reply_scores_nothing():
    assert play(Mcqa(), {"task": TASK, "answer": {"expected_answer": "A"}}, ["  \n"]).reward.reward == 0.0


def test_the_prompt_holds_question_options_and_form():
    messages = Mcqa().split({"task": TASK, "answer": {"expected_answer": "A"}}).messages
    assert messages[-1].role == "user"
    for part in ("Which has no corners?", "A: Circle", "B: Square", "\\boxed{}"):
        assert part in messages[-1].text


def test_a_row_may_bring_its_own_messages():
    own = {"role": "user", "content": "Circle or square?"}
    row = Mcqa().split({"task": TASK, "answer": {"expected_answer": "A"}, "messages": [own]})
    assert [message.text for message in row.messages] == ["Circle or square?"]


def test_there_are_enough_examples_of_every_mode_and_letter():
    assert len(rows()) >= 20
    assert len({row["id"] for row in rows()}) == len(rows())
    assert {row["task"]["grading_mode"] for row in rows()} == set(GradingMode)
    assert {row["answer"]["expected_answer"] for row in rows()} == set("ABCD")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_can_be_solved_and_failed(row):
    letters = {letter for option in row["task"]["options"] for letter in option}
    right = row["answer"]["expected_answer"]

    scores = {letter: play(Mcqa(), row, [form(row, letter)]).reward.reward for letter in letters}

    assert scores == {letter: float(letter == right) for letter in letters}
