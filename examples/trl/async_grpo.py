"""AsyncGRPOTrainer on rollouts by Odradek's workers, which go on while it trains."""

import os

os.environ.update(TRL_EXPERIMENTAL_SILENCE="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")

from collections.abc import Iterator

import torch
from on_cpu import without_a_gpu
from setting_up import (
    BATCH,
    GROUP,
    Server,
    Steps,
    arguments,
    common,
    no_prompts,
    start_of,
    tokenizer,
)
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer

from odradek_training import RewardStream
from odradek_training.trl import RolloutWorker, last_checkpoint

MAX_STALENESS = 4


class Weights:
    """TRL's `WeightTransferProtocol`: one push takes a moment, and the server swaps weights between two batches."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def init_weight_transfer(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def destroy(self) -> None: ...

    def send_weights(self, iterator: Iterator[tuple[str, torch.Tensor]]) -> None:
        self._server.push(iterator)


def main() -> None:
    asked = arguments(__doc__)
    without_a_gpu()
    checkpoint = last_checkpoint(asked.out)
    position, step = start_of(checkpoint)
    server, steps = Server(asked), Steps(asked.out)
    stream = RewardStream(
        run=asked.run,
        group_size=GROUP,
        ahead=asked.ahead or 1,
        position=position,
        max_staleness=MAX_STALENESS,
    )
    worker = RolloutWorker(stream, server.announce, step=step, queued=BATCH)
    config = AsyncGRPOConfig(
        **common(asked), dtype="float32", token_budget=0, weight_sync_steps=1, max_staleness=MAX_STALENESS
    )
    trainer = AsyncGRPOTrainer(
        model=str(asked.model),
        reward_funcs=[lambda **told: [0.0]],  # asked for, and never called: rewards come with the rollouts
        args=config,
        train_dataset=no_prompts(),
        processing_class=tokenizer(asked),
        rollout_worker=worker,
        weight_transfer=Weights(server),
        callbacks=[worker.callback(steps.trained), steps],
    )
    trainer.train(resume_from_checkpoint=checkpoint and str(checkpoint))


if __name__ == "__main__":
    main()
