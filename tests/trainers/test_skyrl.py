"""SkyRL's own functions take what its adapter generates."""

import asyncio
from typing import Any

import pytest

from odradek_training.adapters.skyrl import Generated, StreamGenerator

pytestmark = pytest.mark.trainers


def generate(stream: Any, *, step_wise: bool, uid: str = "0") -> Generated:
    """One group of three, asked for as SkyRL's trainer does."""
    from skyrl.train.generators.utils import prepare_generator_input

    prompt = {"prompt": [], "env_class": None, "env_extras": {}, "uid": uid}
    batch, uids = prepare_generator_input([prompt], 3, {}, "odradek", "train", 1)
    assert uids == [uid] * 3
    return asyncio.run(StreamGenerator(stream, step_wise=step_wise).generate(batch))


@pytest.mark.parametrize("step_wise", [False, True])
def test_skyrl_finds_the_output_valid(stream_of: Any, groups: list[Any], step_wise: bool) -> None:
    from skyrl.train.generators.base import GeneratorOutput
    from skyrl.train.utils.trainer_utils import validate_generator_output

    found = generate(stream_of(groups), step_wise=step_wise)
    assert set(found) <= set(GeneratorOutput.__annotations__)
    validate_generator_output(3, found, step_wise=step_wise)
    assert len(found["response_ids"]) == (4 if step_wise else 3)


def test_a_group_with_a_masked_rollout_is_never_generated(stream_of: Any, groups: list[Any]) -> None:
    found = generate(stream_of(groups[::-1]), step_wise=False)
    assert found["rewards"] == [1.0, 0.0, 0.25]


@pytest.mark.parametrize("step_wise", [False, True])
def test_outputs_are_joined_and_measured(stream_of: Any, groups: list[Any], step_wise: bool) -> None:
    from skyrl.train.generators.utils import concatenate_generator_outputs, get_metrics_from_generator_output

    outputs = [generate(stream_of(groups), step_wise=step_wise, uid=uid) for uid in "01"]
    joined = concatenate_generator_outputs(outputs, step_wise=step_wise)
    assert joined["response_ids"] == outputs[0]["response_ids"] * 2
    uids = [one.instance_id for one in joined["trajectory_ids"]]
    assert get_metrics_from_generator_output(joined, uids)["pass_at_n"] == 1.0


def test_advantages_of_skyrl_are_the_groups(stream_of: Any, groups: list[Any]) -> None:
    import numpy
    from skyrl.backends.skyrl_train.utils import ppo_utils
    from skyrl.train.dataset.preprocess import convert_prompts_responses_to_batch_tensors

    found = generate(stream_of(groups), step_wise=False)
    ends = [
        [0.0] * (len(response) - 1) + [reward]
        for response, reward in zip(found["response_ids"], found["rewards"], strict=True)
    ]
    tensors = convert_prompts_responses_to_batch_tensors(
        0,
        found["prompt_token_ids"],
        found["response_ids"],
        ends,
        found["loss_masks"],
        found["rollout_logprobs"],
    )
    rewards, mask = tensors[3], tensors[4]
    advantages, _ = ppo_utils.compute_grpo_outcome_advantage(
        token_level_rewards=rewards, response_mask=mask, index=numpy.array(["0"] * 3)
    )
    expected = groups[0].advantages()
    for of_row, row_mask, one in zip(advantages, mask, expected, strict=True):
        assert of_row.tolist() == pytest.approx([one * chosen for chosen in row_mask.tolist()], abs=1e-3)
