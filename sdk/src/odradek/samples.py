"""From a trajectory to training samples: what the model chose, token for token, and with which probability.

Nothing is tokenised here. A sample is made of the ids that the sampler was shown and chose, as the upstream returned
them: re-tokenising a conversation gives other ids wherever text was cut differently, and trains on what was never
sampled (the "token-in, token-out" rule of vLLM's `return_token_ids`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from odradek_schemas.rollouts import ModelStep, TrainingSample, Trajectory


class Reason(StrEnum):
    """Why a call is in no sample."""

    NO_TOKENS = "no_tokens"
    NO_PROMPT = "no_prompt"
    NO_LOGPROBS = "no_logprobs"
    LENGTHS_DIFFER = "lengths_differ"


@dataclass(frozen=True, slots=True)
class Unusable:
    """A call that the samples leave out."""

    call_id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Branch:
    """A call that began a sample of its own although others were there.

    Its prompt goes along with sample number `sample` for `common` tokens and then differs: the conversation was
    compacted, belongs to another agent, was asked in parallel, or its text was tokenised differently.
    """

    call_id: str
    sample: int
    common: int


@dataclass(frozen=True, slots=True)
class Samples:
    """All that a trajectory gives, and what it does not.

    `coverage` is the share of its model calls that are in a sample; 1.0 where no model was called.
    """

    samples: list[TrainingSample]
    unusable: list[Unusable]
    branches: list[Branch]
    coverage: float


@dataclass(frozen=True, slots=True)
class _Call:
    step: ModelStep
    prompt: list[int]
    chosen: list[int]
    logprobs: list[float]


def samples(trajectory: Trajectory) -> Samples:
    """The samples of a trajectory's model calls, in the order of the calls.

    A call whose prompt begins with all of a sample's tokens goes on with that sample; any other begins a new one. So
    every token that the model chose is trained on once, and never as part of a prompt.
    """
    steps = [step for step in trajectory.steps if isinstance(step, ModelStep)]
    unusable = [Unusable(step.call_id, reason) for step in steps if (reason := _reason(step)) is not None]
    found: list[TrainingSample] = []
    branches: list[Branch] = []
    for call in _usable(steps):
        shared = [_common(sample, call.prompt) for sample in found]
        place = _continued(found, shared)
        if place is None:
            if found:
                nearest = max(range(len(found)), key=shared.__getitem__)
                branches.append(Branch(call.step.call_id, nearest, shared[nearest]))
            found.append(TrainingSample())
            place = len(found) - 1
        _append(found[place], call)
    coverage = (len(steps) - len(unusable)) / len(steps) if steps else 1.0
    return Samples(found, unusable, branches, coverage)


def _reason(step: ModelStep) -> Reason | None:
    tokens = step.tokens
    if tokens is None or not tokens.completion_token_ids:
        return Reason.NO_TOKENS
    if not tokens.prompt_token_ids:
        return Reason.NO_PROMPT
    if tokens.logprobs is None:
        return Reason.NO_LOGPROBS
    return None if len(tokens.logprobs) == len(tokens.completion_token_ids) else Reason.LENGTHS_DIFFER


def _usable(steps: Iterable[ModelStep]) -> Iterator[_Call]:
    for step in steps:
        tokens = step.tokens
        if tokens is not None and tokens.complete:
            yield _Call(
                step, tokens.prompt_token_ids or [], tokens.completion_token_ids or [], tokens.logprobs or []
            )


def _common(sample: TrainingSample, prompt: Sequence[int]) -> int:
    """How many tokens at its beginning a sample shares with `prompt`."""
    ids = sample.token_ids
    if prompt[: len(ids)] == ids:
        return len(ids)
    pairs = enumerate(zip(ids, prompt, strict=False))
    return next((at for at, (mine, other) in pairs if mine != other), min(len(ids), len(prompt)))


def _continued(found: Sequence[TrainingSample], shared: Sequence[int]) -> int | None:
    """The sample that a prompt goes on with: of those that it begins with, the longest."""
    whole = [place for place, sample in enumerate(found) if shared[place] == len(sample.token_ids)]
    return max(whole, key=shared.__getitem__, default=None)


def _append(sample: TrainingSample, call: _Call) -> None:
    shown = call.prompt[len(sample.token_ids) :]
    sample.token_ids.extend(shown + call.chosen)
    sample.loss_mask.extend([0] * len(shown) + [1] * len(call.chosen))
    sample.logprobs.extend([0.0] * len(shown) + call.logprobs)
    sample.call_ids.append(call.step.call_id)
    sample.policy_versions.append(call.step.tokens.policy_version if call.step.tokens else None)
    sample.finish_reasons.append(call.step.finish_reason)
