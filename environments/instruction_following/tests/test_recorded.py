"""What NeMo Gym's server recorded beside the rewards: tests/oracle compares those."""

from odradek.testing import play
from odradek_instruction_following import InstructionFollowing


def test_each_instruction_was_followed_then_as_now(recordings):
    rows = recordings("instruction_following")
    assert len(rows) == 5

    played = [play(InstructionFollowing(), row.task, row.rollout.replies).reward for row in rows]

    assert [reward.details["followed"] for reward in played] == [
        row.row["follow_instruction_list"] for row in rows
    ]


def test_no_row_is_right_by_chance(recordings):
    for row in recordings("instruction_following"):
        assert play(InstructionFollowing(), row.task, ["I do not know."]).reward.reward == 0.0
