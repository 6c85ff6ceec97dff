"""What vLLM was shown and chose is in the log, token for token, however it was asked; and samples are made of it."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from odradek_schemas.events import ModelCallCompleted, PolicyUpdated
from odradek_schemas.messages import Message, Sampling, TokenRecord
from odradek_schemas.rollouts import Group, ModelStep, RolloutStatus, Trajectory
from odradek_training import Branch, samples
from tests.vllm.conftest import END, LETTERS, MOST, Stage

pytestmark = [pytest.mark.vllm, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

PROMPT = [
    Message(role="system", content="Say the truth."),
    Message(role="user", content="Is this the path, then?"),
]
WRITTEN: Any = [message.model_dump(exclude_none=True) for message in PROMPT]
GREEDY = Sampling(temperature=0.0, max_tokens=MOST)
SEEDED = Sampling(temperature=1.0, seed=7, max_tokens=MOST)

Ask = Callable[[Stage, str, Sampling], Awaitable[ModelCallCompleted]]


def over_http(path: str, **asked: Any) -> Ask:
    return lambda stage, model, sampling: stage.post(path, model, sampling, asked)


WAYS: dict[str, Ask] = {
    "from the log": lambda stage, model, sampling: stage.call(model, sampling, PROMPT),
    "chat": over_http("/v1/chat/completions", messages=WRITTEN),
    "chat, streamed": over_http("/v1/chat/completions", messages=WRITTEN, stream=True),
    "messages, streamed": over_http(
        "/v1/messages", system=WRITTEN[0]["content"], messages=WRITTEN[1:], max_tokens=MOST, stream=True
    ),
    "responses, streamed": over_http("/v1/responses", input=WRITTEN, stream=True),
}


@pytest.mark.parametrize("sampling", [GREEDY, SEEDED], ids=["greedy", "seeded"])
@pytest.mark.parametrize(("model", "finish_reason"), [("free", "length"), ("digits", "stop")])
async def test_every_way_of_asking_keeps_the_same_tokens(
    stage: Stage, model: str, finish_reason: str, sampling: Sampling
) -> None:
    prompt = await stage.vllm.tokenize(WRITTEN)
    calls = {way: await ask(stage, model, sampling) for way, ask in WAYS.items()}
    first = tokens_of(calls["from the log"])
    for way, call in calls.items():
        tokens = tokens_of(call)
        assert tokens.complete, way
        assert tokens.prompt_token_ids == prompt, way
        assert tokens.completion_token_ids == first.completion_token_ids, way
        assert tokens.logprobs == pytest.approx(first.logprobs, abs=1e-3), way
        assert (call.finish_reason, call.message) == (finish_reason, calls["from the log"].message), way
        assert call.usage.prompt_tokens == len(prompt), way
        assert call.usage.completion_tokens == len(tokens.completion_token_ids or []), way


@pytest.mark.parametrize("model", ["free", "digits", "letters"])
async def test_a_replys_text_is_what_its_tokens_spell(stage: Stage, model: str) -> None:
    call = await stage.call(model, GREEDY, PROMPT)
    spelt = await stage.vllm.detokenize(tokens_of(call).completion_token_ids or [])
    assert spelt == call.message.text + (END if call.finish_reason == "stop" else "")


async def test_a_conversation_is_one_sample_where_it_is_tokenised_as_it_was_chosen(stage: Stage) -> None:
    first, second = await conversation(stage, "digits")
    found = samples(trajectory(first, second))
    (sample,) = found.samples
    prompt, chosen = tokens_of(second).prompt_token_ids or [], tokens_of(second).completion_token_ids or []
    assert sample.token_ids == prompt + chosen
    assert sample.call_ids == [first.call_id, second.call_id]
    assert sample.prompt_length == first.usage.prompt_tokens
    assert sum(sample.loss_mask) == 2 * (LETTERS + 1)
    assert (found.coverage, found.branches, found.unusable) == (1.0, [], [])


async def test_it_is_two_samples_where_the_text_was_cut_differently(stage: Stage) -> None:
    """The model chose `t` and `h`; vLLM's own tokenizer shows it `th` in the next prompt."""
    first, second = await conversation(stage, "letters")
    reply = first.message.text
    assert "th" in reply, "this reply would be the same either way"
    found = samples(trajectory(first, second))
    assert [sample.call_ids for sample in found.samples] == [[first.call_id], [second.call_id]]
    until = first.usage.prompt_tokens + reply.index("th")
    assert found.branches == [Branch(second.call_id, sample=0, common=until)]
    assert (found.coverage, found.unusable) == (1.0, [])


async def test_calls_carry_the_policys_version_from_when_it_was_told(stage: Stage) -> None:
    before = await WAYS["chat, streamed"](stage, "digits", GREEDY)
    stage.gateway.end.control(PolicyUpdated(id="policy/digits/step-7", model="digits", version="step-7"))
    after = [await ask(stage, "digits", GREEDY) for ask in WAYS.values()]
    assert tokens_of(before).policy_version is None
    assert {tokens_of(call).policy_version for call in after} == {"step-7"}
    found = samples(trajectory(before, after[0])).samples
    assert [sample.policy_versions for sample in found] == [[None], ["step-7"]]
    assert tokens_of(await WAYS["chat"](stage, "free", GREEDY)).policy_version is None


async def conversation(stage: Stage, model: str) -> tuple[ModelCallCompleted, ModelCallCompleted]:
    """Two calls: the second's prompt is the first's, the reply, and what the user says then."""
    first = await stage.call(model, SEEDED, PROMPT)
    longer = [*PROMPT, first.message, Message(role="user", content="And then?")]
    second = await stage.call(model, SEEDED, longer)
    written = [message.model_dump(exclude_none=True) for message in longer]
    assert tokens_of(second).prompt_token_ids == await stage.vllm.tokenize(written)
    return first, second


def tokens_of(call: ModelCallCompleted) -> TokenRecord:
    assert call.tokens is not None
    return call.tokens


def trajectory(*calls: ModelCallCompleted) -> Trajectory:
    now = datetime.now(UTC)
    return Trajectory(
        run_id="run",
        rollout_id="run/0/0",
        group=Group(task_id="0", size=1),
        sample=0,
        environment="e",
        harness="h",
        model=calls[0].model,
        seed=0,
        task={},
        messages=[call.message for call in calls],
        prompt_messages=0,
        steps=[step(turn, call) for turn, call in enumerate(calls)],
        status=RolloutStatus.COMPLETED,
        started_at=now,
        finished_at=now,
    )


def step(turn: int, call: ModelCallCompleted) -> ModelStep:
    return ModelStep(
        call_id=call.call_id,
        turn=turn,
        message=turn,
        finish_reason=call.finish_reason,
        usage=call.usage,
        latency_ms=call.latency_ms,
        tokens=call.tokens,
    )
