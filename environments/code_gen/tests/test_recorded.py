"""The rewards that NeMo Gym's server gave are ours."""

import pytest

from odradek.testing import play
from odradek_code_gen import CodeGen
from odradek_code_gen.replies import code_block


def test_each_recorded_reward_comes_out_again(recordings):
    rows = recordings("code_gen")
    assert len(rows) == 5

    played = [play(CodeGen({"seconds": 20}), row.task, row.rollout.replies).reward for row in rows]

    assert (
        [reward.reward for reward in played]
        == [row.rollout.reward for row in rows]
        == [0.0, 1.0, 0.0, 0.0, 0.0]
    )


def test_each_recorded_program_fails_at_the_recorded_test(recordings):
    for row in recordings("code_gen"):
        results = row.row["result"]
        details = play(CodeGen({"seconds": 20}), row.task, row.rollout.replies).reward.details
        passed = results.count(True)
        wrong = {"wrong": 1} if passed < len(results) else {}
        assert details["outcomes"] == ({"passed": passed} if passed else {}) | wrong


def test_the_recorded_programs_are_read_out(recordings):
    for row in recordings("code_gen"):
        (reply,) = row.rollout.replies
        assert code_block(reply.text) == row.row["extracted_model_code"]


def test_no_row_is_right_by_chance(recordings):
    played = [play(CodeGen(), row.task, ["I do not know."]).reward for row in recordings("code_gen")]
    assert [(reward.reward, reward.components["no_code"]) for reward in played] == [(0.0, 1.0)] * 5


@pytest.mark.parametrize("field", ["verifier_metadata"])
def test_a_row_without_tests_is_refused(recordings, field):
    row = recordings("code_gen")[0].task
    with pytest.raises(ValueError, match="unit_tests"):
        CodeGen().split({name: value for name, value in row.items() if name != field})
