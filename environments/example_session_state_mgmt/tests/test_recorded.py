"""The rewards and tool outputs of NeMo Gym's server are ours."""

from odradek.testing import play
from odradek_example_session_state_mgmt import ExampleSessionStateMgmt


def test_each_recorded_rollout_plays_again(recordings):
    rows = recordings("example_session_state_mgmt")
    assert len(rows) == 5

    for row in rows:
        played = play(ExampleSessionStateMgmt(), row.task, row.rollout.replies)

        assert played.observations == row.rollout.observations
        assert played.reward.reward == row.rollout.reward
        assert played.replies_left == 0
