"""Rollouts as the two trainers want them (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass

from odradek_schemas.events import RewardAssigned
from odradek_schemas.rollouts import TrainingSample
from odradek_training.errors import PolicyUnordered
from odradek_training.policies import number


@dataclass(frozen=True, slots=True)
class Completion:
    """A sequence cut where the model began. `completion`, `mask` and `logprobs` have the same length, [tokens]; `mask` is
    1 where the model chose the token. `reward` None: it counts for nothing. `version`: of the oldest call in it."""

    prompt: list[int]
    completion: list[int]
    mask: list[int]
    logprobs: list[float]
    reward: float | None
    version: int


def completion_of(reward: RewardAssigned) -> Completion | None:
    """The one sequence that `GRPOTrainer` takes of a rollout: of several, the one in which the model chose most.

    None: no token of the rollout is known.
    """
    if not reward.samples:
        return None
    sample = max(reward.samples, key=lambda one: sum(one.loss_mask))
    at = sample.prompt_length
    return Completion(
        prompt=sample.token_ids[:at],
        completion=sample.token_ids[at:],
        mask=sample.loss_mask[at:],
        logprobs=sample.logprobs[at:],
        reward=reward.reward,
        version=version_of(sample),
    )


def filled(completions: Iterable[Completion | None], size: int) -> list[Completion]:
    """Exactly `size` completions: what lacks is made up of one that is there, with all of it masked and no reward.

    Empty where none is there.
    """
    known = [completion for completion in completions if completion is not None]
    if not known:
        return []
    model = known[0]
    filler = Completion(
        model.prompt, model.completion, [0] * len(model.mask), model.logprobs, None, model.version
    )
    return known[:size] + [filler] * (size - len(known))


def version_of(sample: TrainingSample) -> int:
    """The number of the oldest policy that chose tokens of a sample; 0 where none was announced.

    Raises:
        PolicyUnordered: a version does not end in a number.
    """
    numbers = {version: number(version) for version in sample.policy_versions or [None]}
    bad = [version for version, known in numbers.items() if known is None]
    if bad:
        raise PolicyUnordered(
            f"the policy's version {bad[0]!r} does not end in a number: announce versions such as step-7"
        )
    return min(known for known in numbers.values() if known is not None)
