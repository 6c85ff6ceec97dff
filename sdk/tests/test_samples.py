"""What is trained on is what was sampled: with a toy tokenizer, over conversations of every shape."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.samples import Branch, Reason, samples
from odradek_schemas.messages import TokenRecord, Usage
from odradek_schemas.rollouts import Group, ModelStep, RolloutStatus, TrainingSample, Trajectory

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def tokenized(text: str) -> list[int]:
    """A toy: a token for each letter, but one for `th` and one for `he`, so that where text is cut matters."""
    ids: list[int] = []
    while text:
        size = 2 if text[:2] in ("th", "he") else 1
        ids.append(sum(ord(letter) << (8 * place) for place, letter in enumerate(text[:size])))
        text = text[size:]
    return ids


def step(number: int, **tokens: object) -> ModelStep:
    return ModelStep(
        call_id=f"c{number}",
        turn=number,
        message=0,
        finish_reason="stop",
        usage=Usage(),
        latency_ms=1.0,
        tokens=TokenRecord.model_validate(tokens) if tokens else None,
    )


def trajectory(*steps: ModelStep) -> Trajectory:
    return Trajectory(
        run_id="r",
        rollout_id="r/0/0",
        group=Group(task_id="0", size=1),
        sample=0,
        environment="e",
        harness="h",
        model="m",
        seed=0,
        task={},
        messages=[],
        prompt_messages=0,
        steps=list(steps),
        status=RolloutStatus.COMPLETED,
        started_at=NOW,
        finished_at=NOW,
    )


@dataclass
class Talk:
    """A conversation as token ids: what was said so far, and the calls that were made."""

    said: list[int] = field(default_factory=list)

    def hear(self, text: str) -> None:
        self.said = self.said + tokenized(text)

    def reply(self, number: int, text: str) -> ModelStep:
        """A call with all that was said as its prompt; its logprobs tell which token of which call they belong to."""
        chosen = tokenized(text)
        logprobs = [-(number + place / 1000) for place in range(len(chosen))]
        made = step(number, prompt_token_ids=self.said, completion_token_ids=chosen, logprobs=logprobs)
        self.said = self.said + chosen
        return made


TEXTS = st.text("the ", min_size=1, max_size=6)


@given(turns=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
def test_a_conversation_is_one_sample(turns: list[tuple[str, str]]) -> None:
    talk, steps = Talk(), []
    for number, (heard, said) in enumerate(turns):
        talk.hear(heard)
        steps.append(talk.reply(number, said))
    found = samples(trajectory(*steps))
    (sample,) = found.samples
    assert (sample.token_ids, found.coverage, found.branches) == (talk.said, 1.0, [])
    assert sample.prompt_length == len(tokenized(turns[0][0]))


@given(st.data())
def test_every_chosen_token_is_trained_on_once_whatever_the_branches(data: st.DataObject) -> None:
    """Agents that go on in any order, begin from each other's conversations, and forget the beginning."""
    talks, steps = [Talk()], []
    talks[0].hear("the")
    for number in range(data.draw(st.integers(1, 8))):
        talk = data.draw(st.sampled_from(talks))
        match data.draw(st.sampled_from(["go on", "fork", "compact"])):
            case "fork":
                talk = Talk(talk.said)
                talks.append(talk)
            case "compact":
                talk.said = talk.said[: len(talk.said) // 2]
        talk.hear(data.draw(TEXTS))
        steps.append(talk.reply(number, data.draw(TEXTS)))
    found = samples(trajectory(*steps))
    check(found.samples, steps)
    assert len(found.branches) == len(found.samples) - 1


def check(found: list[TrainingSample], steps: list[ModelStep]) -> None:
    """Each sample is prompt and reply of its calls as they were; each call is in one sample."""
    assert sorted(call for sample in found for call in sample.call_ids) == sorted(s.call_id for s in steps)
    by_id = {step.call_id: step.tokens for step in steps}
    for sample in found:
        assert len(sample.token_ids) == len(sample.loss_mask) == len(sample.logprobs)
        trained = [
            (t, p) for t, m, p in zip(sample.token_ids, sample.loss_mask, sample.logprobs, strict=True) if m
        ]
        expected = []
        for call in sample.call_ids:
            tokens = by_id[call]
            assert tokens is not None
            whole = [*(tokens.prompt_token_ids or []), *(tokens.completion_token_ids or [])]
            assert sample.token_ids[: len(whole)] == whole
            expected += zip(tokens.completion_token_ids or [], tokens.logprobs or [], strict=True)
        assert trained == expected
        assert all(p == 0.0 for m, p in zip(sample.loss_mask, sample.logprobs, strict=True) if not m)


def test_text_that_is_tokenised_differently_begins_a_sample() -> None:
    """`t` then `he` was sampled; the template writes `th`, `e`. Trained on as it was sampled, and said so."""
    first = step(
        0,
        prompt_token_ids=[1, 2],
        completion_token_ids=[*tokenized("t"), *tokenized("he")],
        logprobs=[-1, -2],
    )
    again = [1, 2, *tokenized("the"), 9]
    second = step(1, prompt_token_ids=again, completion_token_ids=[7], logprobs=[-3])
    found = samples(trajectory(first, second))
    assert [sample.call_ids for sample in found.samples] == [["c0"], ["c1"]]
    assert found.branches == [Branch("c1", sample=0, common=2)]
    assert found.samples[1].loss_mask == [0] * len(again) + [1]


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ({}, Reason.NO_TOKENS),
        ({"prompt_token_ids": [1], "completion_token_ids": [], "logprobs": []}, Reason.NO_TOKENS),
        ({"completion_token_ids": [1], "logprobs": [-1]}, Reason.NO_PROMPT),
        ({"prompt_token_ids": [1], "completion_token_ids": [1]}, Reason.NO_LOGPROBS),
        ({"prompt_token_ids": [1], "completion_token_ids": [1, 2], "logprobs": [-1]}, Reason.LENGTHS_DIFFER),
    ],
)
def test_a_call_that_cant_be_trained_on_is_named(tokens: dict[str, object], reason: Reason) -> None:
    good = step(1, prompt_token_ids=[1], completion_token_ids=[2], logprobs=[-1])
    found = samples(trajectory(step(0, **tokens), good))
    assert [(each.call_id, each.reason) for each in found.unusable] == [("c0", reason)]
    assert (found.coverage, [sample.call_ids for sample in found.samples]) == (0.5, [["c1"]])


def test_the_policy_of_each_call_is_kept() -> None:
    """A rollout that spans two versions of the policy says so."""
    first = step(0, prompt_token_ids=[1], completion_token_ids=[2], logprobs=[-1], policy_version="7")
    second = step(1, prompt_token_ids=[1, 2, 3], completion_token_ids=[4], logprobs=[-1], policy_version="8")
    (sample,) = samples(trajectory(first, second)).samples
    assert (sample.policy_versions, sample.finish_reasons) == (["7", "8"], ["stop", "stop"])


def test_without_calls_nothing_is_missing() -> None:
    assert samples(trajectory()).coverage == 1.0


def test_the_longest_sample_that_fits_is_gone_on_with() -> None:
    """Two samples that are both the beginning of a prompt: the later one knows more of it."""
    short = step(0, prompt_token_ids=[1], completion_token_ids=[2], logprobs=[-1])
    other = step(1, prompt_token_ids=[1], completion_token_ids=[2, 3], logprobs=[-1, -1])
    both = step(2, prompt_token_ids=[1, 2, 3, 4], completion_token_ids=[5], logprobs=[-1])
    found = samples(trajectory(short, other, both))
    assert [sample.call_ids for sample in found.samples] == [["c0"], ["c1", "c2"]]
