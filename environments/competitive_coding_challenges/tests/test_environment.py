import json
import tomllib
from pathlib import Path

import pytest

from odradek import RowError
from odradek.testing import play
from odradek_competitive_coding_challenges import CompetitiveCodingChallenges
from odradek_competitive_coding_challenges.contest import Subtask
from odradek_competitive_coding_challenges.replies import program, with_headers

SOLUTIONS = tomllib.loads(Path(__file__).with_name("solutions.toml").read_text())
TESTS = {str(number): {"input": f"{number}\n", "output": f"{2 * number}\n"} for number in (1, 2, 3)}
ROW = {
    "task": {"question": "Print the double.", "problem_id": "double"},
    "answer": {
        "all_tests": TESTS,
        "subtasks": {
            "one": {"score": 40, "test_names": ["1"]},
            "all": {"score": 60, "test_names": ["1", "2", "3"]},
        },
    },
}
DOUBLE = '```cpp\n#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", n < 3 ? 2 * n : LAST); }\n```'
RIGHT, PARTLY = DOUBLE.replace("LAST", "6"), DOUBLE.replace("LAST", "7")


def rows():
    return [json.loads(line) for line in CompetitiveCodingChallenges().examples().read_text().splitlines()]


def score(reply, row=ROW, **settings):
    return play(CompetitiveCodingChallenges({"seconds": 20} | settings), row, [reply]).reward


def of(subtask, **task):
    return {**ROW, "task": {**ROW["task"], "subtask": subtask, **task}}


def test_right_and_partly_right():
    right, partly = score(RIGHT), score(PARTLY)
    assert (right.reward, right.components) == (1.0, {"accuracy": 1.0, "points": 100.0, "compiled": 1.0})
    assert (partly.reward, partly.components["points"]) == (0.0, 40.0)
    assert partly.details["outcomes"] == {"passed": 2, "wrong": 1}


def test_a_task_may_be_about_one_subtask():
    assert score(PARTLY, of("one")).reward == 1.0


def test_a_share_of_the_tests_can_be_the_reward():
    assert score(PARTLY, reward_mode="fraction").reward == pytest.approx(2 / 3)


def test_what_does_not_compile_is_worth_nothing():
    reward = score("I do not know.")
    assert (reward.reward, reward.components["compiled"]) == (0.0, 0.0)
    assert "error" in reward.details["compiler"]


def test_the_reward_does_not_tell_the_answer():
    row = {
        **ROW,
        "answer": {
            "all_tests": {"t": {"input": "1", "output": "secret"}},
            "subtasks": {"s": {"test_names": ["t"]}},
        },
    }
    assert "secret" not in score(RIGHT, row).model_dump_json()


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("```cpp\na\n```", "a\n"),
        ("```cpp\na\n``` or ```CPP\nb\n```", "b\n"),
        ("```python\na\n```", "```python\na\n```"),
        ("a", "a"),
    ],
)
def test_the_program_is_the_last_block(text, source):
    assert program(text) == source


def test_headers_and_names():
    assert with_headers("a") == "#include <bits/stdc++.h>\n\nusing namespace std;\n\na"


@pytest.mark.parametrize("line", ["using namespace std;", "std::cout << 1;"])
def test_names_are_added_only_where_they_are_wanted(line):
    assert with_headers(line) == f"#include <bits/stdc++.h>\n{line}"


def test_points():
    tests = {"a": True, "b": False}
    assert Subtask(score=40, test_names=["a"]).points(tests) == 40
    assert Subtask(score=40, test_names=["a", "b"]).points(tests) == 0
    assert Subtask(aggregation="sum_tests", test_names=["a", "b", "c"]).points(tests) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"grader_files": [["checker/checker.cpp", ""]]}, "grader_files"),
        ({"subtasks": {}}, "go together"),
        ({"subtasks": {"one": {"test_names": ["4"]}}}, "lacks: 4"),
        ({"subtasks": {"one": {"test_names": []}}}, "at least 1"),
    ],
)
def test_tests_that_can_not_be_tried_are_refused(change, reason):
    with pytest.raises(RowError, match=reason):
        CompetitiveCodingChallenges().split({**ROW, "answer": ROW["answer"] | change})


def test_a_subtask_that_is_not_there_is_refused():
    with pytest.raises(RowError, match="'two' is none of one, all"):
        CompetitiveCodingChallenges().split(of("two"))


def test_the_id_of_a_gym_row_is_no_name():
    gym = {"responses_create_params": {"input": "?"}, "problem_id": "double", "id": 1}
    assert CompetitiveCodingChallenges().split(gym).id is None
    assert CompetitiveCodingChallenges().split(ROW | {"id": "a"}).id == "a"


def test_the_tests_stay_out_of_the_task():
    row = CompetitiveCodingChallenges().split(ROW)
    assert "all_tests" not in json.dumps(row.task)
    assert "Print the double." in row.messages[0].text


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_each_example_can_be_solved(row):
    reward = score(f"```cpp\n{SOLUTIONS[row['id']]}```", row)
    assert (reward.reward, reward.components["points"]) == (1.0, 100.0)
