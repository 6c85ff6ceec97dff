import base64
import json
import tomllib
import zlib
from pathlib import Path

import pytest

from odradek import Message, RowError
from odradek.testing import play
from odradek.verifiers.programs import local_runner
from odradek_code_gen import CodeGen
from odradek_code_gen.replies import code_block, mixes_reasoning
from odradek_code_gen.unit_tests import UnitTests

SOLUTIONS = tomllib.loads(Path(__file__).with_name("solutions.toml").read_text())

ADD = {
    "task": {"question": "Print the sum."},
    "answer": {"unit_tests": {"inputs": ["1 2", "3 4"], "outputs": ["3", "7"]}},
}
RIGHT = "print(sum(map(int, input().split())))"


def rows():
    return [json.loads(line) for line in CodeGen().examples().read_text().splitlines()]


def block(source):
    return f"So:\n```python\n{source}\n```\nDone."


def score(reply, row=ADD, **settings):
    return play(CodeGen(settings), row, [reply]).reward


def test_right_wrong_and_none():
    right, wrong, none = score(block(RIGHT)), score(block("print(3)")), score("I do not know.")
    assert (right.reward, right.details["outcomes"]) == (1.0, {"passed": 2})
    assert (wrong.reward, wrong.details["outcomes"]) == (0.0, {"passed": 1, "wrong": 1})
    assert (none.reward, none.components) == (0.0, {"accuracy": 0.0, "no_code": 1.0})


@pytest.mark.parametrize(
    ("source", "outcome"),
    [("1 / 0", "error"), ("while True: pass", "timeout"), ("import os; os.abort()", "killed")],
)
def test_the_reward_tells_what_went_wrong(source, outcome):
    reward = score(block(source), seconds=1)
    assert (reward.reward, reward.details["outcomes"]) == (0.0, {outcome: 1})


def test_the_reward_does_not_tell_the_answer():
    row = {"task": {"question": "?"}, "answer": {"unit_tests": {"inputs": ["x"], "outputs": ["secret"]}}}
    assert "secret" not in score(block("print(input())"), row).model_dump_json()


def test_a_verifier_that_can_not_run_programs_gives_no_reward(tmp_path):
    assert score(block(RIGHT), python=str(tmp_path / "nothing")) is None


def test_a_python_of_ones_own_is_used():
    python = str(local_runner().fence.python)
    reward = score(block(RIGHT), python=python, isolation=local_runner().name)
    assert (reward.reward, reward.details["isolation"]) == (1.0, local_runner().name)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\na\n```", "a"),
        ("```\na\nb\n```", "a\nb"),
        ("```python\na\n```\nNo:\n```python\nb\n```", "b"),
        ("```python\na\n```\nand ```", ""),
        ("```python\na", ""),
        ("a", ""),
        ("", ""),
        ("```python print(1) ```", ""),
    ],
)
def test_the_program_is_the_last_block(text, code):
    assert code_block(text) == code


def test_reasoning_in_the_answer_costs_the_reward():
    reply = "<think>x</think>" + block(RIGHT)
    assert score(reply).reward == 0.0
    assert score(reply, reasoning_format_penalty=-0.5).reward == -0.5
    assert score(reply).components == {"accuracy": 1.0, "no_code": 0.0, "reasoning_format_violation": 1.0}


@pytest.mark.parametrize(
    ("reasoning", "mixed"),
    [(None, False), ("<think>a</think>", False), ("<think><think>", True), ("</think>" * 2, True)],
)
def test_reasoning_that_is_marked_twice(reasoning, mixed):
    assert mixes_reasoning([Message(role="assistant", content="a", reasoning_content=reasoning)]) is mixed


def test_packed_tests_are_unpacked():
    plain = {"inputs": ["1\n2"], "outputs": ["3"]}
    packed = base64.b64encode(zlib.compress(json.dumps(plain).encode())).decode()
    assert UnitTests.model_validate({"packed": packed, "fn_name": "f"}) == UnitTests(**plain, fn_name="f")


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ({"inputs": [], "outputs": []}, "at least 1"),
        ({"inputs": ["1"], "outputs": []}, "1 inputs and 0 outputs"),
        ({"inputs": ["x"], "outputs": ["1"], "fn_name": "f"}, "is not"),
        ({"packed": "?"}, "unpacked"),
        ({"packed": "AAAA"}, "unpacked"),
        ({}, "required"),
    ],
)
def test_tests_that_can_not_be_tried_are_refused(tests, reason):
    with pytest.raises(RowError, match=reason):
        CodeGen().split({"task": {"question": "?"}, "answer": {"unit_tests": tests}})


def test_the_tests_stay_out_of_the_task():
    row = CodeGen().split(ADD)
    assert "unit_tests" not in row.task
    assert "Print the sum." in row.messages[0].text


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_can_be_solved_and_failed(row):
    assert score(block(SOLUTIONS[row["id"]]), row, seconds=20).reward == 1.0
    assert score(block("print('?')"), row, seconds=20).reward == 0.0
