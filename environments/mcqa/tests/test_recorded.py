"""The rewards that NeMo Gym's server gave are ours."""

import pytest

from odradek.testing import play
from odradek_mcqa import Mcqa

STALE = 2
"""The recorded 0 of this row is older than the rule: its box holds a letter with the option's text behind it."""


def test_each_recorded_reward_comes_out_again(recordings):
    rows = recordings("mcqa")
    assert len(rows) == 5

    ours = [play(Mcqa(), row.task, row.rollout.replies).reward.reward for row in rows]

    recorded = [row.rollout.reward for row in rows]
    assert (recorded[STALE], ours[STALE]) == (0.0, 1.0)
    recorded[STALE] = 1.0
    assert ours == recorded


def test_no_row_is_right_by_chance(recordings):
    played = [play(Mcqa(), row.task, ["I do not know."]) for row in recordings("mcqa")]

    assert [p.reward.reward for p in played] == [0.0] * 5
    assert [p.reward.components["no_answer"] for p in played] == [1.0] * 5


@pytest.mark.parametrize("field", ["expected_answer", "options"])
def test_a_row_without_what_grading_needs_is_refused(recordings, field):
    row = recordings("mcqa")[0].task
    with pytest.raises(ValueError, match=field):
        Mcqa().split({name: value for name, value in row.items() if name != field})
