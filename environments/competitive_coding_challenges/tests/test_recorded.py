"""What can be told of the recorded rollouts: the tests that they were graded by are not shipped, all rewards are 0.

The programs are read out and compiled here as they were there. They are tried on cases of the same contest task, made by
its definition, and get the recorded reward on these.
"""

import pytest

from odradek.testing import play
from odradek_competitive_coding_challenges import CompetitiveCodingChallenges
from tests.oracle.making_mexes import CASES, hidden_tests, least_changes


def test_without_their_tests_the_rows_play_and_give_no_reward(recordings):
    rows = recordings("competitive_coding_challenges")
    assert len(rows) == 5
    for row in rows:
        played = play(CompetitiveCodingChallenges(), row.task, row.rollout.replies)
        assert played.trajectory.status == "completed"
        assert played.reward is None


def test_the_hand_checked_case():
    assert least_changes(CASES["sample"]) == [1, 0, 3, 1, 2]


@pytest.mark.slow
def test_each_recorded_reward_comes_out_again_on_cases_of_the_same_task(recordings):
    rows = recordings("competitive_coding_challenges")
    environment = CompetitiveCodingChallenges({"seconds": 20})

    ours = [play(environment, row.task | hidden_tests(), row.rollout.replies).reward for row in rows]

    assert [reward.reward for reward in ours] == [row.rollout.reward for row in rows] == [0.0] * 5
    for reward, row in zip(ours, rows, strict=True):
        outputs = row.row["details"]["test_case_results"]["all_tests"]["outputs"]
        assert (
            reward.components["compiled"]
            == float(all(output["compile_success"] for output in outputs))
            == 1.0
        )
        assert reward.details["outcomes"] == {"wrong": len(CASES)}


SOLUTION = """```cpp
int main() {
    int n;
    cin >> n;
    vector<int> counts(n + 2);
    for (int i = 0, number; i < n; i++) cin >> number, counts[number]++;
    for (int i = 0, absent = 0; i <= n; absent += counts[i] == 0, i++) cout << max(absent, counts[i]) << endl;
}
```"""


def test_a_right_program_gets_the_reward_on_these_cases(recordings):
    row = recordings("competitive_coding_challenges")[0]
    task = row.task | hidden_tests() | {"subtask_score": len(CASES)}
    reward = play(CompetitiveCodingChallenges({"seconds": 20}), task, [SOLUTION]).reward
    assert (reward.reward, reward.components["points"]) == (1.0, len(CASES))
