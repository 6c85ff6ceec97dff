"""SkyRL: what a generator returns."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from odradek_training.adapters.skyrl import StreamGenerator


@dataclass(frozen=True)
class Id:
    """SkyRL's `TrajectoryID`."""

    instance_id: str
    repetition_id: int


def asked(*sizes: int) -> dict[str, Any]:
    ids = [Id(f"p{prompt}", number) for prompt, size in enumerate(sizes) for number in range(size)]
    return {"prompts": [[]] * len(ids), "trajectory_ids": ids}


def test_a_batch_is_as_many_rollouts_as_prompts_in_their_order(
    stream_of: Any, group_of: Any, makes: Any, turns: Any
) -> None:
    groups = [
        group_of(0, (1.0, [turns]), (0.0, [makes.tokens(7, 8)])),
        group_of(1, (None, []), (1.0, [turns])),
        group_of(2, (0.5, [makes.tokens(7, 9)]), (0.25, [makes.tokens(7, 5), makes.tokens(7, 6, 4)])),
    ]
    batch = asked(2, 2)
    found = asyncio.run(StreamGenerator(stream_of(groups)).generate(batch))
    assert found == {
        "prompt_token_ids": [[1, 2], [7], [7], [7]],
        "response_ids": [[3, 4, 5, 6], [8], [9], [6, 4]],
        "rewards": [1.0, 0.0, 0.5, 0.25],
        "loss_masks": [[1, 0, 1, 1], [1], [1], [1, 1]],
        "stop_reasons": ["length", "stop", "stop", "stop"],
        "rollout_metrics": {"odradek/turns": 1.0},
        "rollout_logprobs": [[-0.25, 0.0, -0.5, -0.75], [-0.5], [-0.5], [-0.5, -0.5]],
        "trajectory_ids": batch["trajectory_ids"],
        "is_last_step": None,
    }


def test_step_wise_a_rollout_has_all_its_sequences(stream_of: Any, group_of: Any, makes: Any) -> None:
    group = group_of(0, (1.0, [makes.tokens(1, 2), makes.tokens(1, 3)]), (0.0, [makes.tokens(1, 4)]))
    found = asyncio.run(StreamGenerator(stream_of([group]), step_wise=True).generate(asked(2)))
    assert found["response_ids"] == [[2], [3], [4]]
    assert found["is_last_step"] == [False, True, True]
    assert [one.repetition_id for one in found["trajectory_ids"]] == [0, 0, 1]
    assert found["rewards"] == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("sizes", [(2, 1), ()], ids=["of two sizes", "empty"])
def test_groups_of_several_sizes_are_refused(stream_of: Any, sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="n_samples_per_prompt"):
        asyncio.run(StreamGenerator(stream_of([])).generate(asked(*sizes)))
