"""What NeMo Gym's server recorded beside the rewards: tests/oracle compares those."""

import pytest

from odradek.testing import play
from odradek_math_with_judge import MathWithJudge


def test_math_verify_says_what_it_said_then(recordings):
    rows = recordings("math_with_judge")
    assert len(rows) == 5

    played = [play(MathWithJudge(), row.task, row.rollout.replies).reward for row in rows]

    assert [reward.components["symbolic"] for reward in played] == [row.row["library_reward"] for row in rows]
    assert [reward.details["extracted_answer"] for reward in played] == [
        row.row["extracted_answer"] for row in rows
    ]


def test_no_row_is_right_by_chance(recordings):
    for row in recordings("math_with_judge"):
        assert play(MathWithJudge(), row.task, ["I do not know."]).reward.reward == 0.0


@pytest.mark.parametrize("field", ["expected_answer", "question"])
def test_a_row_without_what_grading_needs_is_refused(recordings, field):
    row = recordings("math_with_judge")[0].task
    with pytest.raises(ValueError, match=field):
        MathWithJudge().split({name: value for name, value in row.items() if name != field})
