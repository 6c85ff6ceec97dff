import json

import pytest
from pydantic import ValidationError

from odradek.testing import play
from odradek_math_with_judge import MathWithJudge
from odradek_schemas.failures import Failure, FailureKind, Stage

ROW = {"task": {"question": "What is 1/2 + 1/4?"}, "answer": {"expected_answer": r"\(\frac{3}{4}\)"}}
BUSY = Failure(kind=FailureKind.RATE_LIMITED, stage=Stage.MODEL, message="busy")
JUDGED = {"judge_model": "wise"}


def rows():
    return [json.loads(line) for line in MathWithJudge().examples().read_text().splitlines()]


def score(reply, sayings=(), row=ROW, **settings):
    """The reward, and what the judge was asked."""
    asked, left = [], list(sayings)

    def judge(question):
        asked.append(question)
        return left.pop(0)

    played = play(MathWithJudge(settings), row, [reply], judge=judge)
    assert not left
    return played.reward, asked


@pytest.mark.parametrize(
    ("reply", "reward", "no_answer"),
    [
        (r"It is \boxed{0.75}.", 1.0, 0.0),
        (r"It is \boxed{\frac{6}{8}}.", 1.0, 0.0),
        (r"It is \boxed{0.7}.", 0.0, 0.0),
        ("It is 3/4.", 0.0, 1.0),
        (r"\boxed{ }", 0.0, 1.0),
        ("", 0.0, 1.0),
    ],
)
def test_without_a_judge(reply, reward, no_answer):
    result, _ = score(reply)
    assert result.reward == reward
    assert result.components == {"symbolic": reward, "no_answer": no_answer}


def test_the_reward_does_not_tell_the_answer():
    result, _ = score(r"\boxed{0.7}")
    assert "3" not in result.model_dump_json()


@pytest.mark.parametrize(
    ("sayings", "reward"),
    [(["[[A=B]]", "[[A=B]]"], 1.0), (["[[A=B]]", "[[A!=B]]"], 0.0), (["[[A!=B]]"], 0.0)],
)
def test_a_judge_decides_what_is_not_equal(sayings, reward):
    result, asked = score(r"\boxed{three quarters}", sayings, **JUDGED)
    assert result.reward == reward
    assert result.components == {"symbolic": 0.0, "no_answer": 0.0, "judged": reward}
    assert {question.model for question in asked} == {"wise"}
    shown = asked[0].messages[-1].text
    for part in ("What is 1/2 + 1/4?", r"\frac{3}{4}", "three quarters"):
        assert part in shown


@pytest.mark.parametrize("reply", [r"\boxed{0.75}", "three quarters"])
def test_a_judge_is_not_asked_needlessly(reply):
    assert score(reply, **JUDGED)[1] == []


@pytest.mark.parametrize("sayings", [["hm", "well"], [BUSY, BUSY], ["[[A=B]]", "hm", BUSY]])
def test_a_judge_that_gives_no_verdict_gives_no_reward(sayings):
    assert score(r"\boxed{three quarters}", sayings, **JUDGED)[0] is None


def test_votes():
    result, _ = score(r"\boxed{x}", ["[[A!=B]]", "[[A=B]]", "[[A!=B]]"], judge_model="wise", judge_votes=3)
    assert result.reward == 0.0


def test_an_expected_answer_that_can_not_be_read_is_no_zero():
    row = {"task": ROW["task"], "answer": {"expected_answer": "}"}}
    assert score(r"\boxed{1}", row=row)[0] is None
    assert score(r"\boxed{1}", ["[[A!=B]]"], row=row, **JUDGED)[0].reward == 0.0


@pytest.mark.parametrize("settings", [{"judge_votes": 0}, {"judge": "wise"}])
def test_settings_are_checked(settings):
    with pytest.raises(ValidationError):
        MathWithJudge(settings)


def test_the_prompt_holds_the_problem_and_the_form():
    [message] = MathWithJudge().split(ROW).messages
    assert "What is 1/2 + 1/4?" in message.text
    assert "\\boxed{}" in message.text


def test_there_are_enough_examples():
    assert len(rows()) == len({row["id"] for row in rows()}) == 24


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_can_be_solved_and_failed(row):
    right, wrong = (
        score(rf"\boxed{{{said}}}", row=row)[0] for said in (row["answer"]["expected_answer"], "-77")
    )
    assert (right.reward, wrong.reward) == (1.0, 0.0)
