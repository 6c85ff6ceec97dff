"""prime-rl: episodes of verifiers, as records."""

from typing import Any

from odradek_training.adapters.prime_rl import episode_record, episodes
from odradek_training.adapters.rows import rollouts


def test_a_rollout_is_an_episode_with_one_trace(group_of: Any, makes: Any, turns: Any) -> None:
    group = group_of(0, (1.0, [turns, makes.tokens(1, 9)]), (0.0, [makes.tokens(1, 8)]))
    rows = rollouts(group)[0]
    record = episode_record(rows)
    assert (record["id"], record["group"], record["ok"]) == ("r/0/0", {"id": "r:r/0"}, True)
    assert record["run"]["work"] == {"type": "train", "step": 7, "policy": {"start": 0, "end": 7}}
    (trace,) = record["traces"]
    assert trace["rewards"] == {"reward": {"score": 1.0}}
    nodes = trace["nodes"]
    assert [node["parent"] for node in nodes] == [None, 0, 1, 2, None, 4]
    assert [node["token_ids"] for node in nodes] == [[1, 2], [3], [4], [5, 6], [1], [9]]
    assert [node["sampled"] for node in nodes] == [False, True, False, True, False, True]
    assert [node["message"]["role"] for node in nodes] == ["user", "assistant"] * 3
    assert [node["mask"] for node in nodes] == [
        [False, False],
        [True],
        [False],
        [True, True],
        [False],
        [True],
    ]
    assert [node["logprobs"] for node in nodes] == [[], [-0.25], [], [-0.5, -0.75], [], [-0.5]]
    advantage = group.advantages()[0]
    assert [node["advantages"] for node in nodes] == [
        None,
        [advantage],
        None,
        [advantage] * 2,
        None,
        [advantage],
    ]


def test_only_rollouts_that_count_are_episodes(modules: Any, group_of: Any, makes: Any) -> None:
    class Wire:
        @staticmethod
        def model_validate(record: Any) -> Any:
            return record

    modules.put("verifiers.v1.episode", WireEpisode=Wire)
    group = group_of(0, (None, [makes.tokens(1, 2)]), (0.0, [makes.tokens(1, 3)]), (1.0, []))
    assert [found["id"] for found in episodes(group)] == ["r/0/1"]
