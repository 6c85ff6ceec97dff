"""GRPOTrainer on rollouts by Odradek's workers: each step publishes its weights and takes its groups from the stream."""

import os

os.environ.update(TRL_EXPERIMENTAL_SILENCE="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

from typing import Any

from setting_up import (
    GROUP,
    Server,
    Steps,
    arguments,
    common,
    no_prompts,
    start_of,
    tokenizer,
)
from trl import GRPOConfig, GRPOTrainer

from odradek_training import RewardStream
from odradek_training.trl import RolloutFunc, last_checkpoint, stream_reward, with_behaviour_logprobs


def main() -> None:
    asked = arguments(__doc__)
    checkpoint = last_checkpoint(asked.out)
    position, _ = start_of(checkpoint)
    server, steps = Server(asked), Steps(asked.out)

    def publish(trainer: Any, version: str) -> None:
        server.push(trainer.accelerator.unwrap_model(trainer.model).named_parameters())
        server.announce(version)

    with RewardStream.sync(
        run=asked.run, group_size=GROUP, ahead=asked.ahead or None, position=position
    ) as stream:
        rollouts = RolloutFunc(stream, publish)
        trainer = with_behaviour_logprobs(GRPOTrainer)(
            model=str(asked.model),
            reward_funcs=stream_reward,
            args=GRPOConfig(**common(asked), beta=0.0, max_completion_length=64),
            train_dataset=no_prompts(),
            processing_class=tokenizer(asked),
            rollout_func=rollouts,
            callbacks=[rollouts.callback(steps.trained), steps],
        )
        trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))


if __name__ == "__main__":
    main()
