"""What an upstream repeats of the API key is not kept."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web

from odradek.models import ModelSettings
from odradek_model_gateway.failures import CallError
from odradek_model_gateway.settings import GatewaySettings
from odradek_model_gateway.upstream import HttpClient, Upstream
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.messages import Message

KEY = "sk-planted-0123456789"


def request() -> ModelCallRequested:
    return ModelCallRequested(
        id="r/0/0/1/0",
        run_id="r",
        rollout_id="r/0/0",
        model="m",
        messages=[Message(role="user", content="?")],
        deadline=datetime.now(UTC) + timedelta(minutes=1),
    )


async def upstream(
    client: HttpClient, status: int, answer: str, **more: Any
) -> tuple[Upstream, web.AppRunner]:
    async def repeat(asked: web.Request) -> web.Response:
        text = answer.replace("KEY", asked.headers["Authorization"])
        return web.Response(text=text, status=status, **more)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", repeat)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    return Upstream(ModelSettings.at(url, model="m"), client, KEY), runner


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503])
@pytest.mark.parametrize(
    "answer",
    ['{"error": {"message": "bad: KEY"}}', '{"detail": {"headers": {"authorization": "KEY"}}}', "KEY"],
)
async def test_a_refusal_that_repeats_the_key_is_told_without_it(
    client: HttpClient, status: int, answer: str
) -> None:
    asked, runner = await upstream(client, status, answer)
    try:
        with pytest.raises(CallError, match=rf"HTTP {status}.*Bearer \*\*\*") as failed:
            await asked.post(b"{}", request(), 1)
        assert KEY not in failed.value.failure.message
    finally:
        await runner.cleanup()


async def test_so_is_an_answer(client: HttpClient) -> None:
    content = '{"choices": [{"message": {"role": "assistant", "content": "KEY"}, "finish_reason": "stop"}]}'
    asked, runner = await upstream(client, 200, content)
    try:
        reply = await asked.post(b"{}", request(), 1)
        assert reply.message.content == "Bearer ***"
    finally:
        await runner.cleanup()


async def test_and_a_stream(client: HttpClient) -> None:
    content = 'data: {"error": {"message": "KEY"}}\n\n'
    asked, runner = await upstream(client, 200, content, content_type="text/event-stream")
    try:
        with pytest.raises(CallError) as failed:
            await asked.stream(b"{}", request(), 1, lambda _piece: None)
        assert KEY not in failed.value.failure.message
    finally:
        await runner.cleanup()


def test_settings_do_not_show_what_is_in_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_REDIS_URL", "redis://user:planted-password@127.0.0.1/0")
    monkeypatch.setenv("ODRADEK_MODELS", '{"m": {"base_url": "http://127.0.0.1/v1", "model": "m"}}')
    assert "planted-password" not in repr(GatewaySettings())
