"""`GRPOTrainer(rollout_func=...)`: a step's groups come out of the stream."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from odradek_schemas.base import JsonObject
from odradek_training.group import Group
from odradek_training.trl.checkpoints import OnTrained, position_callback
from odradek_training.trl.sequences import Completion, completion_of, filled

Publish = Callable[[Any, str], None]
"""Given the trainer and the number of its step, as text: makes the trainer's weights what rollouts are sampled from, and
then announces that version."""

REWARD, STALENESS = "odradek_reward", "odradek_staleness"


class SyncStream(Protocol):
    """What is needed of `RewardStream.sync`."""

    def __iter__(self) -> Iterator[Group]: ...
    def __next__(self) -> Group: ...
    def want(self, groups: int) -> None: ...
    def position(self) -> JsonObject: ...


class StreamEnded(RuntimeError):
    """The runs that the stream reads are over, and the trainer wants more of them."""


class RolloutFunc:
    """What `rollout_func` is given. The trainer's own prompts are not looked at: tasks come with the run.

    Before each batch it publishes the weights, asks for as many groups as the batch has, and waits for them. A stream
    without `ahead` is so on policy to the step; one with `ahead` has rollouts played while the trainer computes, whose
    weights are as many steps older. Give `stream_reward` as the reward function, and `callback()` among the callbacks.
    """

    def __init__(self, stream: SyncStream, publish: Publish | None = None) -> None:
        self._stream = stream
        self._publish = publish
        self._taken: list[str] = []

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """As many completions as there are prompts, groups together.

        Raises:
            ValueError: this process's share of a batch is not made of whole groups, or the run's are of another size.
            StreamEnded: there are no more groups.
            StreamError: the stream can't go on; see its kinds.
        """
        groups, size = _whole_groups(len(prompts), trainer.num_generations)
        step = int(trainer.state.global_step)
        if self._publish is not None and trainer.accelerator.is_main_process:
            self._publish(trainer, str(step))
        trainer.accelerator.wait_for_everyone()
        self._taken = []
        self._stream.want(groups)
        return _columns([one for _ in range(groups) for one in self._group(size)], step)

    def callback(self, on_trained: OnTrained | None = None) -> Any:
        """A callback that keeps the stream's position in the trainer's checkpoints; see `position_in`."""
        return position_callback(self._stream.position, lambda: self._taken, on_trained)

    def _group(self, size: int) -> list[Completion]:
        """The next group that can be trained on.

        Raises:
            ValueError: the run's groups are not of the trainer's size.
            StreamEnded, StreamError
        """
        for group in self._stream:
            if group.size != size:
                raise ValueError(
                    f"run {group.run_id} plays {group.size} rollouts of each task, the trainer compares "
                    f"num_generations={size}: let them be the same"
                )
            completions = filled(map(completion_of, group.rewards), size)
            if completions:
                self._taken.append(group.task_id)
                return completions
        raise StreamEnded(
            "the stream has no more groups: its runs are over; begin another run with more tasks"
        )


def stream_reward(odradek_reward: list[float | None], **told: Any) -> list[float | None]:
    """The reward function: what the verifiers said. It logs how many steps old the rollouts are, too."""
    log, ages = told.get("log_metric"), told.get(STALENESS)
    if log is not None and ages:
        log("odradek/staleness_mean", sum(ages) / len(ages))
        log("odradek/staleness_max", max(ages))
    return odradek_reward


def _whole_groups(prompts: int, size: int) -> tuple[int, int]:
    """How many groups a batch has, and of how many.

    Raises:
        ValueError: they are not whole.
    """
    if prompts % size:
        raise ValueError(
            f"a process's batch of {prompts} holds no whole groups of num_generations={size}: let "
            "per_device_train_batch_size x steps_per_generation be a multiple of it"
        )
    return prompts // size, size


def _columns(completions: Sequence[Completion], step: int) -> dict[str, list[Any]]:
    return {
        "prompt_ids": [one.prompt for one in completions],
        "completion_ids": [one.completion for one in completions],
        "logprobs": [one.logprobs for one in completions],
        "env_mask": [one.mask for one in completions],
        REWARD: [one.reward for one in completions],
        STALENESS: [float(step - one.version) for one in completions],
    }
