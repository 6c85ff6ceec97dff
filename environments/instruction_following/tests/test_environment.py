import json

import pytest

from odradek import RowError
from odradek.testing import play
from odradek.verifiers import instructions
from odradek_instruction_following import InstructionFollowing

TASK = {
    "prompt": "Say hello in at least 3 words, without a comma.",
    "instruction_id_list": ["length_constraints:number_words", "punctuation:no_comma"],
    "kwargs": [{"num_words": 3, "relation": "at least"}, None],
}


def rows():
    return [json.loads(line) for line in InstructionFollowing().examples().read_text().splitlines()]


def reward(reply, **more):
    return play(InstructionFollowing(), {"task": TASK | more}, [reply]).reward


@pytest.mark.parametrize(
    ("reply", "followed", "binary", "fraction"),
    [
        ("Hello my friend", [True, True], 1.0, 1.0),
        ("Hello, my friend", [True, False], 0.0, 0.5),
        ("Hello,", [False, False], 0.0, 0.0),
        ("", [False, False], 0.0, 0.0),
    ],
)
def test_rewards(reply, followed, binary, fraction):
    by_all, by_share = reward(reply), reward(reply, grading_mode="fraction")
    assert (by_all.reward, by_share.reward) == (binary, fraction)
    assert by_all.components == by_share.components == {"all_followed": binary, "share_followed": fraction}
    assert by_all.details == {"followed": followed}


def test_the_prompt_is_the_rows():
    assert [message.text for message in InstructionFollowing().split({"task": TASK}).messages] == [
        TASK["prompt"]
    ]


def test_the_new_form_of_rows_is_read_like_the_old():
    parameters = {"responses_create_params": {"input": "Say hello."}, "id": 1}
    own = {name: value for name, value in TASK.items() if name != "prompt"}
    old, new = (
        InstructionFollowing().split(parameters | own),
        InstructionFollowing().split(parameters | {"verifier_metadata": own}),
    )
    assert old.task == new.task


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"instruction_id_list": ["punctuation:no_comas"], "kwargs": [None]}, "no_comas"),
        ({"kwargs": [None]}, "2 instructions need as many kwargs, not 1"),
        ({"kwargs": [{"num_words": 3}, None]}, "relation"),
        ({"instruction_id_list": [], "kwargs": []}, "instruction_id_list"),
        ({"grading_mode": "strict"}, "grading_mode"),
    ],
)
def test_rows_that_no_reply_could_follow_are_refused(change, reason):
    with pytest.raises(RowError, match=reason):
        InstructionFollowing().split({"task": TASK | change})


def test_there_are_enough_examples():
    assert len(rows()) == len({row["id"] for row in rows()}) == 24
    used = {name for row in rows() for name in row["task"]["instruction_id_list"]}
    assert len(used) == 30
    assert used <= set(instructions.names())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_no_example_is_solved_by_chance(row):
    assert play(InstructionFollowing(), row, ["I do not know, sir.!"]).reward.reward == 0.0
