"""Each provider's preset against a server as strict as the provider."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from strict_servers import Provider, Refused, providers, serve

from odradek.dialects import chat
from odradek.models import ModelSettings
from odradek.models.presets import PRESETS
from odradek_model_gateway.gateway import Gateway
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_schemas.events import ModelCallCompleted, ModelCallFailed, ModelCallRequested
from odradek_schemas.failures import FailureKind
from odradek_schemas.messages import Message, ToolCall, Usage

pytestmark = pytest.mark.usefixtures("quick_retries")

CONVERSATION = Path(__file__).parents[3] / "sdk/tests/dialects/golden/conversation.chat.json"
KEY = "sk-1"


@pytest.fixture(params=sorted(PRESETS))
async def provider(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Provider, str]]:
    """The preset's name, its strict server, and the server's origin."""
    provider = providers()[request.param]
    origin, stop = await serve(provider)
    yield request.param, provider, origin
    await stop()


def gateway(
    name: str, provider: Provider, origin: str, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> Gateway:
    """A gateway as the preset makes it, but for where the provider is."""
    given: dict[str, Any] = {"preset": name, "model": "m", "tries": 2}
    base = (
        provider.path.removesuffix("/chat/completions").removesuffix("/responses").removesuffix("/messages")
    )
    if key := PRESETS[name].get("api_key_env"):
        monkeypatch.setenv(key, KEY)
    settings = ModelSettings.model_validate({**given, "base_url": origin + base})
    return Gateway({"m": Upstream(settings, client, settings.key(os.environ))})


def call() -> ModelCallRequested:
    """A conversation with pictures, reasoning, parallel calls and a picture in a tool's result."""
    asked = chat.read_request(orjson.loads(CONVERSATION.read_bytes()))
    return ModelCallRequested(
        id="run/1/0/1/0",
        run_id="run",
        rollout_id="run/1/0",
        model="m",
        messages=asked.messages,
        tools=asked.tools,
        sampling=asked.sampling,
        deadline=datetime.now(UTC) + timedelta(seconds=30),
    )


def test_each_preset_with_an_address_listens_there() -> None:
    for name, provider in providers().items():
        if address := PRESETS[name].get("base_url"):
            assert provider.path.startswith("/" + address.split("/", 3)[3])


async def test_a_conversation_is_taken_and_the_reply_understood(
    provider: tuple[str, Provider, str], client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, server, origin = provider
    result = await gateway(name, server, origin, client, monkeypatch).call(call())
    assert isinstance(result, ModelCallCompleted), result.failure.message
    assert (result.message.text, result.finish_reason) == ("Again.", "tool_calls")
    zoom = {"id": "call_9", "function": {"name": "zoom", "arguments": '{"factor":8}'}}
    assert result.message.tool_calls == [ToolCall.model_validate(zoom)]
    assert result.usage == Usage(prompt_tokens=20, completion_tokens=7, cached_tokens=4)
    assert result.tries == 1


@pytest.mark.parametrize("preset", ["openai", "fireworks"])
async def test_the_picture_of_a_tools_result_is_shown(
    preset: str, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the user where tools may not show any; either way with the call that it belongs to."""
    server = providers()[preset]
    origin, stop = await serve(server)
    assert isinstance(
        await gateway(preset, server, origin, client, monkeypatch).call(call()), ModelCallCompleted
    )
    await stop()
    text = {"type": "text", "text": "here" if preset == "fireworks" else "What call_2 shows:"}
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/zoomed.png"}}
    assert [text, picture] in [message["content"] for message in server.seen[0]["messages"]]
    assert [m["tool_call_id"] for m in server.seen[0]["messages"] if m["role"] == "tool"] == [
        "call_1",
        "call_2",
    ]


@pytest.mark.parametrize("preset", ["anthropic", "openai_responses"])
async def test_sealed_reasoning_comes_back_in_the_next_call(
    preset: str, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = providers()[preset]
    origin, stop = await serve(server)
    to = gateway(preset, server, origin, client, monkeypatch)
    first = call()
    reply = await to.call(first)
    assert isinstance(reply, ModelCallCompleted)
    result = first.messages[3].model_copy(update={"tool_call_id": "call_9"})
    again = first.model_copy(update={"messages": [*first.messages, reply.message, result]})
    assert isinstance(await to.call(again), ModelCallCompleted)
    await stop()
    assert "c2VhbGVk" in orjson.dumps(server.seen[-1]).decode()


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (401, "authentication_error", "invalid x-api-key", FailureKind.AUTH),
        (403, "permission_error", "not yours", FailureKind.AUTH),
        (402, "billing_error", "no credits", FailureKind.QUOTA_EXHAUSTED),
        (429, "insufficient_quota", "You exceeded your current quota", FailureKind.QUOTA_EXHAUSTED),
        (400, "invalid_request_error", "Your credit balance is too low", FailureKind.QUOTA_EXHAUSTED),
        (400, "content_filter", "The response was filtered", FailureKind.CONTENT_FILTERED),
        (
            400,
            "invalid_request_error",
            "prompt is too long: 9 tokens > 8 maximum",
            FailureKind.CONTEXT_OVERFLOW,
        ),
        (429, "rate_limit_error", "slow down", FailureKind.RATE_LIMITED),
        (529, "overloaded_error", "Overloaded", FailureKind.UPSTREAM_UNAVAILABLE),
        (404, "not_found_error", "model: m", FailureKind.INVALID_REQUEST),
    ],
)
async def test_a_refusal_is_typed_whatever_its_shape(
    provider: tuple[str, Provider, str],
    client: HttpClient,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: str,
    message: str,
    kind: FailureKind,
) -> None:
    name, server, origin = provider
    server.failing = Refused(status, message, code)
    result = await gateway(name, server, origin, client, monkeypatch).call(call())
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, message in result.failure.message) == (kind, True)
    assert result.tries == (2 if kind in (FailureKind.RATE_LIMITED, FailureKind.UPSTREAM_UNAVAILABLE) else 1)


async def test_an_answer_of_another_dialect_is_malformed(
    provider: tuple[str, Provider, str], client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, server, origin = provider
    server.answer = {"object": "list", "data": []}
    result = await gateway(name, server, origin, client, monkeypatch).call(call())
    assert isinstance(result, ModelCallFailed)
    assert (result.failure.kind, result.tries) == (FailureKind.MALFORMED_REPLY, 2)


async def test_sealed_reasoning_of_another_api_is_not_sent(
    client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation that was had over Messages goes on over chat completions."""
    provider = providers()["openrouter"]
    origin, stop = await serve(provider)
    own = {"type": "reasoning.encrypted", "data": "c2VhbGVk"}
    foreign: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "reasoning", "encrypted_content": "x"},
    ]
    said = Message(role="assistant", content="Hm.", reasoning_details=[*foreign, own])
    only_foreign = said.model_copy(update={"reasoning_details": foreign})
    asked = [said, Message(role="user", content="And?"), only_foreign, Message(role="user", content="Well?")]
    try:
        result = await gateway("openrouter", provider, origin, client, monkeypatch).call(
            call().model_copy(update={"messages": asked})
        )
    finally:
        await stop()
    assert isinstance(result, ModelCallCompleted), result.failure.message
    first, _, second, _ = provider.seen[0]["messages"]
    assert first["reasoning_details"] == [own]
    assert "reasoning_details" not in second
