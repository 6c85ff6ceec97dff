"""Under Unsloth, TRL's trainer trains on groups of a stream through TRL's own adapter."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.trainers

EXAMPLE = Path(__file__).parents[2] / "examples/trl"
SIZE, GROUPS, STEPS = 4, 2, 3


@pytest.fixture
def groups(sample_of: Any) -> list[Any]:
    """Tasks of four rollouts that said one token or another, the last of them masked in every second task."""
    from stream_lab import Makes

    from odradek_training import Group

    makes = Makes()
    prompt = [5, 6, 7]
    found = []
    for task in range(STEPS * GROUPS):
        scores = [1.0, 0.0, 0.5, None if task % 2 else 0.0]
        samples = [sample_of([*prompt, 8 + number, 9], [0, 0, 0, 1, 1], "step-0") for number in range(SIZE)]
        rewards = (
            makes.reward(task, number, score, samples=[samples[number]])
            for number, score in enumerate(scores)
        )
        found.append(Group("r", f"r/{task}", SIZE, tuple(rewards)))
    return found


def test_trl_under_unsloth_trains_on_a_streams_groups(
    tmp_path: Path, groups: list[Any], stream_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import unsloth  # before TRL, which it changes

    assert unsloth.__name__ in sys.modules
    import torch
    from datasets import Dataset
    from tiny_model import model, tokenizer
    from trl import GRPOConfig, GRPOTrainer

    from odradek_training.trl import RolloutFunc, stream_reward, with_behaviour_logprobs

    words = tokenizer()
    trained = model(len(words))
    before = trained.get_input_embeddings().weight.detach().clone()
    config = GRPOConfig(
        output_dir=str(tmp_path),
        use_cpu=True,
        bf16=False,
        max_steps=STEPS,
        per_device_train_batch_size=SIZE * GROUPS,
        num_generations=SIZE,
        max_completion_length=8,
        learning_rate=1e-3,
        beta=0.0,
        logging_steps=1,
        report_to="none",
        save_strategy="no",
        gradient_checkpointing=False,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = with_behaviour_logprobs(GRPOTrainer)(
        model=trained,
        reward_funcs=stream_reward,
        args=config,
        train_dataset=Dataset.from_dict({"prompt": ["-"] * 64}),
        processing_class=words,
        rollout_func=RolloutFunc(stream_of(groups)),
    )
    trainer.train()
    rewards = [line["reward"] for line in trainer.state.log_history if "reward" in line]
    assert len(rewards) == STEPS
    assert rewards == pytest.approx([(1.5 + 1.5) / 7] * STEPS)
    assert not torch.equal(
        before, trainer.accelerator.unwrap_model(trainer.model).get_input_embeddings().weight
    )
