"""Each call is made once, whoever asks again; who may ask, and until when; and how a client is told that there is no answer."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import openai
import pytest
from aiohttp import ClientSession
from front_lab import (
    ANSWER,
    ASKED,
    PIECES,
    PROGRAM,
    Conductor,
    Front,
    Refused,
    StartFront,
    completed,
    end,
    post,
    until,
)

from odradek_runtime.access import Signer, TrainerAccess
from odradek_schemas.events import (
    ModelCallCompleted,
    ModelCallFailed,
    PolicyUpdated,
    RunCancelled,
)
from odradek_schemas.failures import FailureKind

pytestmark = pytest.mark.kafka

OVERFLOW = {
    "error": {"message": "This model's maximum context length is 8 tokens", "code": "context_length_exceeded"}
}


# --- Once ----------------------------------------------------------------------------------------------------------


async def test_two_equal_bodies_without_a_mark_are_two_calls(front: Front, conductor: Conductor) -> None:
    (_, one), (_, other) = await post(front), await post(front)
    assert one["id"] != other["id"]
    assert (len(conductor.asked), await completed(front)) == (2, 2)


async def test_the_same_mark_gets_the_same_answer(front: Front, conductor: Conductor) -> None:
    """At once and afterwards; in another attempt the mark is another one."""
    together = await asyncio.gather(*(post(front, Idempotency_Key="k") for _ in range(5)))
    again = await post(front, Idempotency_Key="k")
    assert {answer["id"] for _status, answer in [*together, again]} == {again[1]["id"]}
    assert (len(conductor.asked), await completed(front)) == (1, 1)
    await post(front, Idempotency_Key="k", token=front.token("run/1/0/2/2"))
    assert len(conductor.asked) == 2


async def test_a_mark_stands_for_one_body(front: Front) -> None:
    await post(front, Idempotency_Key="k")
    status, told = await post(front, {**ASKED, "temperature": 1}, Idempotency_Key="k")
    assert (status, told["error"]["code"]) == (422, "idempotency_key_in_use")


async def test_a_failed_call_with_a_mark_is_made_anew(front: Front, conductor: Conductor) -> None:
    conductor.score.append(Refused(400, {"error": {"message": "no"}}))
    assert (await post(front, Idempotency_Key="k"))[0] == 400
    assert (await post(front, Idempotency_Key="k"))[0] == 200


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_client_that_lost_its_connection_comes_back_for_its_answer(
    front: Front, conductor: Conductor, streamed: bool
) -> None:
    """As the SDKs do by themselves: the same body, and a header that says that it is a retry."""
    conductor.gate.clear()
    asked = {**ASKED, "stream": True} if streamed else ASKED
    lost = asyncio.ensure_future(post(front, asked))
    await until(lambda: conductor.asked)
    lost.cancel()
    await asyncio.wait({lost})
    conductor.gate.set()
    ai = openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key=front.token(), max_retries=0)
    marked: Any = {"extra_headers": {"x-stainless-retry-count": "1"}}
    answer = await ai.chat.completions.create(**asked, **marked)
    text = (
        "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
        if streamed
        else answer.choices[0].message.content
    )
    assert text == "Again."
    assert (len(conductor.asked), await completed(front)) == (1, 1)


@pytest.mark.parametrize("marked", [{"Idempotency_Key": "k"}, {"x_stainless_retry_count": "1"}])
async def test_another_process_finds_the_answer_in_the_log(
    start_front: StartFront, conductor: Conductor, marked: dict[str, str]
) -> None:
    """Caught: a call that is paid twice because its gateway died after it had answered."""
    first, second = await start_front(), await start_front()
    _, one = await post(first, Idempotency_Key="k")
    _, other = await post(second, **marked)
    assert other["choices"] == one["choices"]
    assert (len(conductor.asked), await completed(first)) == (1, 1)
    status, told = await post(second, {**ASKED, "temperature": 1}, Idempotency_Key="k")
    assert (status, told["error"]["code"]) == (422, "idempotency_key_in_use")


# --- Who, and until when --------------------------------------------------------------------------------------------


async def test_after_the_end_calls_are_refused_and_those_under_way_are_cancelled(
    front: Front, conductor: Conductor
) -> None:
    conductor.gate.clear()
    under_way = asyncio.ensure_future(post(front))
    await until(lambda: conductor.asked)
    await end(front, PROGRAM)
    status, told = await under_way
    assert (status, told["error"]["code"]) == (403, "rollout_ended")
    assert "max_turns is reached" in told["error"]["message"]
    await until(lambda: conductor.left)
    conductor.gate.set()
    assert (await post(front))[0] == 403
    assert (await post(front, token=front.token("run/1/0/2/2")))[0] == 200
    assert len(conductor.asked) == 2


async def test_one_that_starts_later_knows_what_has_ended(start_front: StartFront) -> None:
    await end(await start_front(), PROGRAM)
    assert (await post(await start_front()))[0] == 403


async def test_a_cancelled_runs_calls_are_ended(front: Front, conductor: Conductor) -> None:
    conductor.gate.clear()
    under_way = asyncio.ensure_future(post(front))
    await until(lambda: conductor.asked)
    front.end.control(RunCancelled(id="run/cancelled", run_id="run", reason="enough"))
    status, told = await under_way
    assert status == 403
    assert "enough" in told["error"]["message"]
    await until(lambda: conductor.left)
    assert (await post(front))[0] == 403


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (lambda front: front.token(seconds=-5), "has expired"),
        (lambda front: front.token(signer=Signer(b"x" * 32)), "none that this gateway knows"),
        (lambda front: "sk-1", "none that this gateway knows"),
    ],
)
async def test_other_tokens_are_refused(front: Front, conductor: Conductor, token: Any, told: str) -> None:
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
        status, answer = await post(front, path=path, token=token(front))
        assert status == 401
        assert told in answer["error"]["message"]
    claude = anthropic.AsyncAnthropic(base_url=front.url, api_key=token(front))
    with pytest.raises(anthropic.AuthenticationError):
        await claude.messages.create(**ASKED, max_tokens=5)
    assert conductor.asked == []


async def test_what_the_run_wants_counts_and_the_rest_is_the_programs(
    front: Front, conductor: Conductor
) -> None:
    await post(
        front, {**ASKED, "temperature": 0, "top_p": 0.5, "max_tokens": 9}, token=front.token(temperature=1.0)
    )
    assert {name: conductor.asked[0][name] for name in ("temperature", "top_p", "max_tokens")} == {
        "temperature": 1.0,
        "top_p": 0.5,
        "max_tokens": 9,
    }


async def test_one_that_is_stopped_sends_its_clients_to_another(front: Front, conductor: Conductor) -> None:
    """As the SDKs understand it: 503, and worth another try."""
    conductor.gate.clear()
    sent = {"Authorization": f"Bearer {front.token()}"}
    async with ClientSession() as session:

        async def ask() -> tuple[int, str | None]:
            async with session.post(f"{front.url}/v1/chat/completions", headers=sent, json=ASKED) as response:
                return response.status, response.headers.get("x-should-retry")

        under_way = asyncio.ensure_future(ask())
        await until(lambda: conductor.asked)
        await front.end.stop()
        assert await under_way == (503, "true")
    await until(lambda: conductor.left)


# --- How it is told -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "path", "status", "told"),
    [
        ({**ASKED, "model": "gpt-9"}, "/v1/chat/completions", 404, "'m' alone, not 'gpt-9'"),
        (b"{", "/v1/responses", 400, "not JSON"),
        (b"[]", "/v1/messages", 400, "must be a JSON object"),
        ({"model": "m", "messages": 3}, "/v1/chat/completions", 400, "must be a list"),
        (
            {"model": "m", "input": "hi", "previous_response_id": "r"},
            "/v1/responses",
            400,
            "nothing is stored",
        ),
        (ASKED, "/v1/completions", 404, "/v1/chat/completions"),
        (ASKED, "/v1/messages/batches", 404, "/v1/messages"),
    ],
)
async def test_bad_requests_are_told_what_is_wrong(
    front: Front, conductor: Conductor, asked: Any, path: str, status: int, told: str
) -> None:
    found, answer = await post(front, asked, path)
    assert found == status
    assert told in answer["error"]["message"]
    assert ("type" in answer and answer["type"] == "error") == (
        path not in ("/v1/chat/completions", "/v1/completions")
    )
    assert conductor.asked == []
    assert await front.logged() == []


FAILURES = [
    (Refused(400, OVERFLOW), FailureKind.CONTEXT_OVERFLOW, 400),
    (Refused(401, {"error": {"message": "bad key"}}), FailureKind.AUTH, 403),
    (Refused(429, {"error": {"message": "slow down"}}), FailureKind.RATE_LIMITED, 429),
    (
        Refused(429, {"error": {"message": "x", "code": "insufficient_quota"}}),
        FailureKind.QUOTA_EXHAUSTED,
        429,
    ),
    (Refused(500, {"error": {"message": "oops"}}), FailureKind.UPSTREAM_UNAVAILABLE, 503),
    (Refused(400, {"error": {"message": "x", "code": "content_filter"}}), FailureKind.CONTENT_FILTERED, 400),
    ({"choices": "none"}, FailureKind.MALFORMED_REPLY, 502),
]


@pytest.mark.parametrize(
    ("failing", "kind", "status"), FAILURES, ids=[kind.value for _f, kind, _s in FAILURES]
)
async def test_a_failure_is_told_once_and_logged_as_its_kind(
    front: Front, conductor: Conductor, failing: Any, kind: FailureKind, status: int
) -> None:
    """The SDKs try again by themselves, unless they are told that it was done here."""
    conductor.score.append(failing)
    ai = openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key=front.token())
    with pytest.raises(openai.APIStatusError) as error:
        await ai.chat.completions.create(**ASKED)
    assert error.value.status_code == status
    (event,) = await front.logged()
    assert isinstance(event, ModelCallFailed)
    assert event.failure.kind is kind
    assert len(conductor.asked) == 1
    conductor.score.append(failing)
    claude = anthropic.AsyncAnthropic(base_url=front.url, api_key=front.token())
    with pytest.raises(anthropic.APIStatusError) as told:
        await claude.messages.create(**ASKED, max_tokens=5)
    assert told.value.status_code == status
    assert len(conductor.asked) == 2


async def test_programs_that_speak_messages_know_an_overflow_by_its_words(
    front: Front, conductor: Conductor
) -> None:
    conductor.score.append(Refused(400, OVERFLOW))
    _, told = await post(front, {**ASKED, "max_tokens": 5}, "/v1/messages")
    assert told["error"]["message"].startswith("prompt is too long")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_a_stream_that_breaks_off_ends_in_an_error_and_is_logged(
    front: Front, conductor: Conductor, path: str
) -> None:
    conductor.score.append(PIECES[:5])
    asked = {**ASKED, "stream": True, "max_tokens": 5}
    async with ClientSession() as session:
        sent = {"Authorization": f"Bearer {front.token()}"}
        async with session.post(front.url + path, headers=sent, json=asked) as response:
            assert response.status == 200
            text = (await response.read()).decode()
    assert "Clo" in text
    assert "the stream ends before the reply does" in text.split("\n\n")[-2]
    (event,) = await front.logged()
    assert isinstance(event, ModelCallFailed)
    assert event.failure.kind is FailureKind.MALFORMED_REPLY


# --- The rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
async def test_token_ids_are_logged_as_they_came(
    start_front: StartFront, conductor: Conductor, streamed: bool
) -> None:
    front = await start_front(token_ids=True)
    logprobs = {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -0.25}]}
    if streamed:
        begun, *rest = PIECES[:-2]
        spoken = {**rest[2]["choices"][0], "token_ids": [7, 8], "logprobs": logprobs}
        conductor.score.append(
            [{**begun, "prompt_token_ids": [1, 2, 3]}, {"choices": [spoken]}, *PIECES[-2:]]
        )
    else:
        choice = {**ANSWER["choices"][0], "token_ids": [7, 8], "logprobs": logprobs}
        conductor.score.append({**ANSWER, "prompt_token_ids": [1, 2, 3], "choices": [choice]})
    front.end.control(PolicyUpdated(id="p", model="m", version="step-7"))
    ai = openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key=front.token())
    answer = await ai.chat.completions.create(**ASKED, stream=streamed)
    if streamed:
        assert [chunk async for chunk in answer]
    assert conductor.asked[0]["return_token_ids"] is True
    (event,) = await front.logged()
    assert isinstance(event, ModelCallCompleted)
    tokens = event.tokens
    assert tokens is not None
    assert (tokens.prompt_token_ids, tokens.completion_token_ids) == ([1, 2, 3], [7, 8])
    assert (tokens.logprobs, tokens.policy_version) == ([-0.5, -0.25], "step-7")


async def test_a_trainer_sets_the_policys_version(front: Front) -> None:
    trainer = front.signer.sign(TrainerAccess(expires=datetime.now(UTC) + timedelta(minutes=1)))
    put = {"model": "m", "version": "step-8"}
    async with ClientSession() as session:
        for token, status in ((trainer, 200), (front.token(), 403)):
            sent = {"Authorization": f"Bearer {token}"}
            async with session.put(f"{front.url}/v1/policy", headers=sent, json=put) as response:
                assert response.status == status
        sent = {"Authorization": f"Bearer {trainer}"}
        async with session.put(f"{front.url}/v1/policy", headers=sent, json={"model": "m"}) as response:
            assert response.status == 400
    (event,) = await front.logged("control", 0)
    assert isinstance(event, PolicyUpdated)
    assert (event.model, event.version) == ("m", "step-8")
    assert (await post(front, token=trainer))[0] == 403


async def test_models_embeddings_and_counted_tokens(front: Front, conductor: Conductor) -> None:
    ai = openai.AsyncOpenAI(base_url=f"{front.url}/v1", api_key=front.token())
    assert [model.id async for model in ai.models.list()] == ["m"]
    assert (await ai.models.retrieve("m")).id == "m"
    claude = anthropic.AsyncAnthropic(base_url=front.url, api_key=front.token())
    assert [model.id async for model in claude.models.list()] == ["m"]
    counted = await claude.messages.count_tokens(**ASKED)
    assert counted.input_tokens > 0
    _, told = await post(front, {"model": "m", "input": "hi"}, "/v1/embeddings")
    assert told == {"path": "/v1/embeddings", "model": "upstream-m"}
    assert await front.logged() == []
