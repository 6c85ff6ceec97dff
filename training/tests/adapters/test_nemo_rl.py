"""NeMo RL: message logs, batches and trajectories in the documented shapes, with tensors that are lists."""

from typing import Any

import pytest

from odradek_training.adapters import nemo_rl
from odradek_training.adapters.rows import rows

KEYS = {
    "message_log",
    "length",
    "loss_multiplier",
    "total_reward",
    "truncated",
    "idx",
    "task_name",
    "extra_env_info",
}


@pytest.fixture
def libraries(modules: Any) -> None:
    kinds = {name: name for name in ("int64", "float32", "bool")}
    modules.put("torch", tensor=lambda values, dtype: (dtype, values), **kinds)
    modules.put("nemo_rl.distributed.batched_data_dict", BatchedDataDict=dict)


def test_a_sequence_is_a_log_whose_assistant_has_logprobs(group_of: Any, turns: Any) -> None:
    (row,) = rows(group_of(0, (1.0, [turns])))
    assert nemo_rl.message_log(row) == [
        {"role": "user", "content": "", "token_ids": [1, 2]},
        {"role": "assistant", "content": "", "token_ids": [3], "generation_logprobs": [-0.25]},
        {"role": "user", "content": "", "token_ids": [4]},
        {"role": "assistant", "content": "", "token_ids": [5, 6], "generation_logprobs": [-0.5, -0.75]},
    ]


@pytest.mark.usefixtures("libraries")
def test_a_batch_has_what_rollouts_leave(group_of: Any, makes: Any, turns: Any) -> None:
    group = group_of(0, (1.0, [turns]), (None, [turns]), (0.0, [makes.tokens(1, 2)]))
    batch = nemo_rl.batch(rows(group))
    assert set(batch) == KEYS
    assert batch["length"] == ("int64", [6, 2])
    assert batch["total_reward"] == ("float32", [1.0, 0.0])
    assert batch["loss_multiplier"] == ("float32", [1.0, 1.0])
    assert batch["truncated"] == ("bool", [False, False])
    assert batch["message_log"][1] == [
        {"role": "user", "content": "", "token_ids": ("int64", [1])},
        {
            "role": "assistant",
            "content": "",
            "token_ids": ("int64", [2]),
            "generation_logprobs": ("float32", [-0.5]),
        },
    ]


@pytest.mark.usefixtures("libraries")
def test_a_group_goes_into_the_replay_buffer_with_its_oldest_policy(
    group_of: Any, makes: Any, turns: Any
) -> None:
    found = nemo_rl.trajectory(rows(group_of(0, (1.0, [turns]), (0.0, [makes.tokens(1, 2, policy="9")]))), 9)
    assert (found["weight_version"], found["target_weight_version"]) == (6, 9)
    assert set(found["trajectory"]) == {"batch", "rollout_metrics", "timestamp"}
    assert found["trajectory"]["rollout_metrics"] == {
        "avg_turns_per_sample": 1.0,
        "max_turns_per_sample": 1.0,
    }
    with pytest.raises(ValueError, match="a group without rows"):
        nemo_rl.trajectory([], 9)
