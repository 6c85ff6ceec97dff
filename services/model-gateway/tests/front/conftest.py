"""The front end on a real broker, before an upstream that does what the test says."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from front_lab import Conductor, Front, StartFront

from odradek_local.testing import create_topics


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    conductor = Conductor()
    conductor.gate.set()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", conductor.complete)
    app.router.add_post("/v1/embeddings", conductor.other)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    conductor.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield conductor
    conductor.gate.set()
    await runner.cleanup()


@pytest.fixture
async def start_front(
    kafka: str, prefix: str, tmp_path: Path, conductor: Conductor
) -> AsyncIterator[StartFront]:
    """Starts front ends on one log."""
    await create_topics(kafka, prefix, 2, "control", "model-access", "model-results")
    running: list[Front] = []

    async def start(**model: Any) -> Front:
        running.append(await Front(kafka, prefix, tmp_path, conductor, **model).start())
        return running[-1]

    yield start
    for front in running:
        await front.end.stop()


@pytest.fixture
async def front(start_front: StartFront) -> Front:
    return await start_front()


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
