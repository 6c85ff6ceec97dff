"""The ratio of GRPO's loss against the policy that sampled, not against the trainer's own of a moment ago."""

from typing import Any


def with_behaviour_logprobs(trainer: type[Any]) -> type[Any]:
    """A subclass of `GRPOTrainer` whose ratios are taken against the logprobs that rollouts came with.

    Without vLLM inside, TRL 1.16 keeps them (`sampling_per_token_logps`) and computes with a ratio of 1, which is right
    for rollouts of the very weights that are trained, and for no others.
    """

    class BehaviourTrainer(trainer):  # type: ignore[misc]
        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
            batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
            batch["old_per_token_logps"] = batch["sampling_per_token_logps"]
            return batch

    BehaviourTrainer.__name__ = f"Behaviour{trainer.__name__}"
    return BehaviourTrainer
