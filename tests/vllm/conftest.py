"""A real vLLM behind a gateway: one server for all tests, a gateway for each."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout

from odradek.models import ModelSettings
from odradek_schemas.base import JsonObject
from odradek_schemas.events import Event, ModelCallCompleted, ModelCallFailed, ModelCallRequested
from odradek_schemas.messages import Message, Sampling
from tests.support.gateway import MODEL_SECONDS, RunningGateway, running_gateway
from tests.vllm.installing import is_installed
from tests.vllm.server import MODEL, Vllm, running_vllm

END = "<|end|>"
"""The token with which the tiny model ends a message."""
MOST = 24
"""Tokens of a reply, where the model does not end it before."""
LETTERS = 12
"""Tokens before the end of a reply that is spelt."""


@dataclass(frozen=True)
class Stage:
    """The server, and the gateway before it."""

    vllm: Vllm
    gateway: RunningGateway

    async def post(self, path: str, model: str, sampling: Sampling, asked: JsonObject) -> ModelCallCompleted:
        """Ask over HTTP, as a program does; returns what the log has of the call."""
        headers = {"Authorization": f"Bearer {self.gateway.token(model, sampling)}"}
        async with (
            ClientSession(timeout=ClientTimeout(total=MODEL_SECONDS)) as session,
            session.post(self.gateway.url + path, json={"model": model, **asked}, headers=headers) as answer,
        ):
            told = await answer.text()
            assert answer.status == 200, told
        return _completed((await self.gateway.told())[-1])

    async def call(self, model: str, sampling: Sampling, messages: Sequence[Message]) -> ModelCallCompleted:
        """Ask as a call from the log is asked."""
        event = ModelCallRequested(
            id=f"run/0/0/1/{len(messages)}",
            run_id="run",
            rollout_id="run/0/0",
            model=model,
            messages=list(messages),
            sampling=sampling,
            deadline=datetime.now(UTC) + timedelta(seconds=MODEL_SECONDS),
        )
        return _completed(await self.gateway.core.call(event))


@pytest.fixture(scope="session")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vllm]:
    if not is_installed():
        pytest.skip("vLLM is not installed: make test-vllm")
    with running_vllm(tmp_path_factory.mktemp("vllm") / "log") as server:
        yield server


@pytest.fixture
async def stage(vllm: Vllm, kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[Stage]:
    """Its models are one, which may say what it likes (`free`) or is bound to some tokens and then to end.

    `digits` has one way to write what it says; `letters` writes `t` and `h` where a tokenizer would write `th`.
    """
    models = {
        "free": _asked(vllm, {"min_tokens": MOST}),
        "digits": _asked(vllm, await _spelt(vllm, "0123456789")),
        "letters": _asked(vllm, await _spelt(vllm, "th")),
    }
    async with running_gateway(kafka, prefix, tmp_path / "blobs", models) as gateway:
        yield Stage(vllm, gateway)


def _asked(vllm: Vllm, extra_body: JsonObject) -> ModelSettings:
    return ModelSettings.at(f"{vllm.url}/v1", model=MODEL, preset="vllm", tries=1, extra_body=extra_body)


async def _spelt(vllm: Vllm, letters: str) -> JsonObject:
    (end,) = await vllm.ids(END)
    allowed: list[Any] = [token for letter in letters for token in await vllm.ids(letter)]
    return {"allowed_token_ids": [*allowed, end], "min_tokens": LETTERS, "logit_bias": {str(end): 100}}


def _completed(event: Event | ModelCallFailed) -> ModelCallCompleted:
    assert isinstance(event, ModelCallCompleted), event
    return event
