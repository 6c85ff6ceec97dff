"""The gateway against a real HTTP server: every way in which a call can end."""

import asyncio
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from odradek.models import ModelSettings
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_schemas.events import ModelCallCompleted, ModelCallFailed, ModelCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import FunctionSpec, Message, Sampling, ToolSpec

pytestmark = pytest.mark.usefixtures("quick_retries")

WEATHER = ToolSpec(
    function=FunctionSpec(
        name="get_weather",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    )
)
_numbers = count()


def request(seconds: float = 30.0, **changes: Any) -> ModelCallRequested:
    rollout = f"run/{next(_numbers)}/0"
    fields: dict[str, Any] = {
        "id": f"{rollout}/1/0",
        "run_id": "run",
        "rollout_id": rollout,
        "model": "m",
        "messages": [Message(role="user", content="Which? A: this B: that")],
        "deadline": datetime.now(UTC) + timedelta(seconds=seconds),
    }
    return ModelCallRequested(**{**fields, **changes})


@pytest.fixture
def gateway_to(scripted_model: Any, client: HttpClient) -> Callable[..., Gateway]:
    """A gateway whose model `m` runs the script of that name."""

    def build(script: str, **settings: Any) -> Gateway:
        given = {"base_url": scripted_model.base_url, "model": script, **settings}
        return Gateway({"m": Upstream(ModelSettings(**given), client)})

    return build


def kind(result: ModelCallCompleted | ModelCallFailed) -> FailureKind:
    assert isinstance(result, ModelCallFailed), result
    return result.failure.kind


async def test_a_call_is_answered_with_message_usage_and_latency(
    gateway_to: Callable[..., Gateway], scripted_model: Any
) -> None:
    event = request()
    result = await gateway_to("instant").call(event)
    assert isinstance(result, ModelCallCompleted)
    assert (result.id, result.call_id) == (f"{event.id}/completed", event.id)
    assert (result.run_id, result.rollout_id, result.model) == (event.run_id, event.rollout_id, "m")
    assert result.message == Message(role="assistant", content=r"\boxed{A}")
    assert (result.finish_reason, result.tries, result.tokens) == ("stop", 1, None)
    assert result.usage.completion_tokens == len(r"\boxed{A}")
    assert 0 < result.usage.cached_tokens < result.usage.prompt_tokens
    assert result.latency_ms > 0
    assert scripted_model.asked(event.id) == 1


async def test_sampling_reaches_the_model(gateway_to: Callable[..., Gateway]) -> None:
    result = await gateway_to("instant").call(request(sampling=Sampling(max_tokens=4, temperature=0.5)))
    assert isinstance(result, ModelCallCompleted)
    assert (result.message.content, result.finish_reason) == (r"\box", "length")


async def test_native_tool_calls_and_their_results_go_back_and_forth(
    gateway_to: Callable[..., Gateway],
) -> None:
    gateway = gateway_to("tool_loop")
    event = request(tools=[WEATHER], sampling=Sampling(tool_choice="auto"))
    first = await gateway.call(event)
    assert isinstance(first, ModelCallCompleted)
    assert first.finish_reason == "tool_calls"
    assert first.message.tool_calls is not None
    (call,) = first.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("get_weather", '{"city":"San Francisco"}')
    observed = Message(role="tool", tool_call_id=call.id, content="cold")
    second = await gateway.call(request(tools=[WEATHER], messages=[*event.messages, first.message, observed]))
    assert isinstance(second, ModelCallCompleted)
    assert second.message.content == "Done: cold"


async def test_a_model_without_tool_calls_plays_the_same_tools(gateway_to: Callable[..., Gateway]) -> None:
    gateway = gateway_to("tool_loop", tool_calls="json_schema")
    event = request(tools=[WEATHER], sampling=Sampling(tool_choice="auto", parallel_tool_calls=True))
    first = await gateway.call(event)
    assert isinstance(first, ModelCallCompleted)
    assert first.finish_reason == "tool_calls"
    assert first.message.tool_calls is not None
    (call,) = first.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("get_weather", '{"city":"San Francisco"}')
    observed = Message(role="tool", tool_call_id=call.id, content="cold")
    second = await gateway.call(request(tools=[WEATHER], messages=[*event.messages, first.message, observed]))
    assert isinstance(second, ModelCallCompleted)
    assert second.message.content == "Done: Result of get_weather: cold"
    assert second.finish_reason == "stop"


async def test_a_reply_cut_short_is_kept_as_the_model_wrote_it(gateway_to: Callable[..., Gateway]) -> None:
    gateway = gateway_to("tool_loop", tool_calls="json_schema")
    result = await gateway.call(request(tools=[WEATHER], sampling=Sampling(max_tokens=9)))
    assert isinstance(result, ModelCallCompleted)
    assert (result.message.content, result.finish_reason) == ('{"name":"', "length")


async def test_tools_as_json_leave_no_room_for_another_response_format(
    gateway_to: Callable[..., Gateway], scripted_model: Any
) -> None:
    event = request(tools=[WEATHER], sampling=Sampling(response_format={"type": "json_object"}))
    result = await gateway_to("tool_loop", tool_calls="json_schema").call(event)
    assert kind(result) == FailureKind.INVALID_REQUEST
    assert scripted_model.asked(event.id) == 0


async def test_token_ids_are_asked_for_only_when_configured_and_returned_exactly(
    gateway_to: Callable[..., Gateway],
) -> None:
    gateway = gateway_to("instant", token_ids=True)
    gateway.policies["m"] = "step-7"
    result = await gateway.call(request(messages=[Message(role="user", content="hi")]))
    assert isinstance(result, ModelCallCompleted)
    assert result.tokens is not None
    said = rb"\boxed{A}"
    assert result.tokens.prompt_token_ids == list(b"hi")
    assert result.tokens.completion_token_ids == list(said)
    assert result.tokens.logprobs == [-byte / 256 for byte in said]
    assert result.tokens.policy_version == "step-7"


async def test_extra_body_is_sent_but_the_call_has_the_last_word(gateway_to: Callable[..., Gateway]) -> None:
    gateway = gateway_to("instant", extra_body={"max_tokens": 2})
    default, asked = (
        await gateway.call(request()),
        await gateway.call(request(sampling=Sampling(max_tokens=3))),
    )
    assert isinstance(default, ModelCallCompleted)
    assert isinstance(asked, ModelCallCompleted)
    assert (default.message.content, asked.message.content) == (r"\b", r"\bo")


async def test_an_empty_reply_in_the_history_can_be_sent(gateway_to: Callable[..., Gateway]) -> None:
    messages = [
        Message(role="user", content="hi"),
        Message(role="assistant"),
        Message(role="user", content="?"),
    ]
    assert isinstance(await gateway_to("instant").call(request(messages=messages)), ModelCallCompleted)


async def test_a_rate_limit_is_waited_out(gateway_to: Callable[..., Gateway], scripted_model: Any) -> None:
    event = request()
    result = await gateway_to("flaky").call(event)
    assert isinstance(result, ModelCallCompleted)
    assert (result.message.content, result.tries) == ("Back again.", 2)
    assert scripted_model.asked(event.id) == 2


@pytest.mark.parametrize(
    ("script", "expected", "tries"),
    [
        ("rate_limited", FailureKind.RATE_LIMITED, 3),
        ("error500", FailureKind.UPSTREAM_UNAVAILABLE, 3),
        ("broken_json", FailureKind.MALFORMED_REPLY, 3),
        ("no_choices", FailureKind.MALFORMED_REPLY, 3),
        ("close", FailureKind.UPSTREAM_UNAVAILABLE, 3),
        ("unauthorized", FailureKind.AUTH, 1),
        ("context_overflow", FailureKind.CONTEXT_OVERFLOW, 1),
        ("no_such_model", FailureKind.INVALID_REQUEST, 1),
    ],
)
async def test_failures_are_typed_and_tries_are_bounded(
    gateway_to: Callable[..., Gateway], scripted_model: Any, script: str, expected: FailureKind, tries: int
) -> None:
    event = request()
    result = await gateway_to(script, tries=3).call(event)
    assert isinstance(result, ModelCallFailed)
    assert (result.id, result.call_id) == (f"{event.id}/failed", event.id)
    assert (result.failure.kind, result.tries) == (expected, tries)
    assert scripted_model.asked(event.id) == tries


async def test_a_bad_request_says_what_the_upstream_said(gateway_to: Callable[..., Gateway]) -> None:
    orphan = [Message(role="tool", tool_call_id="x", content="nobody asked")]
    result = await gateway_to("instant").call(request(messages=orphan))
    assert isinstance(result, ModelCallFailed)
    assert result.failure.kind == FailureKind.INVALID_REQUEST
    assert "must follow a message with 'tool_calls'" in result.failure.message


async def test_an_endless_response_is_cut_off(gateway_to: Callable[..., Gateway]) -> None:
    result = await gateway_to("endless", tries=1, max_response_bytes=100_000).call(request())
    assert isinstance(result, ModelCallFailed)
    assert result.failure.kind == FailureKind.UPSTREAM_UNAVAILABLE
    assert "100000 bytes" in result.failure.message


@pytest.mark.parametrize("script", ["slow", "trickle"])
async def test_the_deadline_ends_a_call_in_whatever_state(
    gateway_to: Callable[..., Gateway], script: str
) -> None:
    result = await gateway_to(script).call(request(seconds=0.3))
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, result.tries) == (FailureKind.MODEL_DEADLINE, 1)


async def test_a_try_that_takes_too_long_is_made_again(
    gateway_to: Callable[..., Gateway], scripted_model: Any
) -> None:
    event = request()
    result = await gateway_to("slow", timeout_seconds=0.1, tries=2).call(event)
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, result.tries) == (FailureKind.UPSTREAM_UNAVAILABLE, 2)
    assert scripted_model.asked(event.id) == 2


async def test_a_past_deadline_fails_at_once(gateway_to: Callable[..., Gateway], scripted_model: Any) -> None:
    event = request(seconds=-1)
    result = await gateway_to("instant").call(event)
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, result.tries) == (FailureKind.MODEL_DEADLINE, 0)
    assert scripted_model.asked(event.id) == 0


async def test_waiting_for_a_turn_has_the_deadline_too_and_says_why(
    gateway_to: Callable[..., Gateway],
) -> None:
    gateway = gateway_to("slow", max_concurrency=1)
    first = asyncio.ensure_future(gateway.call(request(seconds=30)))
    await asyncio.sleep(0.05)
    result = await gateway.call(request(seconds=0.2))
    assert kind(result) == FailureKind.RATE_LIMITED
    assert isinstance(result, ModelCallFailed)
    assert "no turn at" in result.failure.message
    assert "1 calls are under way" in result.failure.message
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_waiting_for_a_turn_takes_nothing_of_a_trys_time(gateway_to: Callable[..., Gateway]) -> None:
    """Caught: a call that waited for most of its try's time, and was then cut off in the rest."""
    gateway = gateway_to("slow", max_concurrency=1, timeout_seconds=0.3, tries=1)
    results = await asyncio.gather(*(gateway.call(request(seconds=30)) for _ in range(3)))
    assert {kind(result) for result in results} == {FailureKind.UPSTREAM_UNAVAILABLE}
    assert all("no answer within 0.3 s" in str(result) for result in results)


async def test_a_call_is_told_what_it_cost(gateway_to: Callable[..., Gateway]) -> None:
    free, paid = (
        await gateway_to("instant").call(request()),
        await gateway_to("instant", price={"input": 1, "cached_input": 0.1, "output": 10}).call(request()),
    )
    assert isinstance(free, ModelCallCompleted)
    assert isinstance(paid, ModelCallCompleted)
    assert free.cost is None
    used = paid.usage
    dear, cheap = used.prompt_tokens - used.cached_tokens, used.cached_tokens
    assert paid.cost == pytest.approx((dear + 0.1 * cheap + 10 * used.completion_tokens) / 1e6)


async def test_a_refused_connection_is_typed(client: HttpClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        gateway = Gateway({"m": Upstream(ModelSettings.at(url, model="x", tries=2), client)})
        result = await gateway.call(request())
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, result.tries) == (FailureKind.UPSTREAM_UNAVAILABLE, 2)


async def test_a_dead_replica_is_passed_over(scripted_model: Any, client: HttpClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        urls = (f"http://127.0.0.1:{unused.getsockname()[1]}/v1", scripted_model.base_url)
        gateway = Gateway({"m": Upstream(ModelSettings.at(*urls, model="instant", tries=2), client)})
        results = [await gateway.call(request()) for _ in range(12)]
    assert all(isinstance(result, ModelCallCompleted) for result in results)
    assert {result.tries for result in results} == {1, 2}, "some rollouts prefer the dead one, some do not"


async def test_an_unknown_model_names_those_that_there_are(gateway_to: Callable[..., Gateway]) -> None:
    result = await gateway_to("instant").call(request(model="gpt-9"))
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, result.tries) == (FailureKind.UNKNOWN_MODEL, 0)
    assert "'gpt-9'" in result.failure.message
    assert "has m" in result.failure.message


async def test_an_id_with_a_line_break_can_not_forge_headers(gateway_to: Callable[..., Gateway]) -> None:
    result = await gateway_to("instant").call(request(id="run/1\r\nx-evil: yes"))
    assert isinstance(result, ModelCallCompleted)
