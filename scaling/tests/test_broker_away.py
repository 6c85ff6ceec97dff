"""Kafka goes away under a load exporter that had measured, and comes back."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import ClientSession

from odradek_local.kafka import KafkaBroker
from odradek_local.testing import create_topics
from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import PLAINTEXT
from odradek_runtime.names import Names
from odradek_scaling import meter as metering
from odradek_scaling.meter import Meter
from odradek_scaling.server import LoadServer
from odradek_schemas.topics import TOOL_ACTIONS

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

START_SECONDS = 90.0
PATHS = ("/pools/env-worker", "/metrics", "/readyz")


async def statuses(http: ClientSession) -> list[int]:
    """What each path answers with."""
    found = []
    for path in PATHS:
        async with http.get(path) as answer:
            found.append(answer.status)
    return found


async def test_no_number_is_told_while_kafka_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "FRESH_SECONDS", 0.0)
    broker = KafkaBroker(tmp_path, port=0)
    broker.start()
    meter = Meter(Brokers(broker.bootstrap, PLAINTEXT), Names("t."))
    server = LoadServer(meter, "127.0.0.1", 0)
    await server.start()
    try:
        await broker.healthy(START_SECONDS)
        await create_topics(broker.bootstrap, "t.", 1, TOOL_ACTIONS.name)
        async with ClientSession(f"http://127.0.0.1:{server.port}") as http:
            assert await statuses(http) == [200, 200, 200]
            broker.process.kill()
            assert await statuses(http) == [503, 503, 503]
            broker.start()
            await broker.healthy(START_SECONDS)
            async with asyncio.timeout(START_SECONDS):
                while await statuses(http) != [200, 200, 200]:
                    pass  # its groups are not there at once; each question waits for them for a while
    finally:
        await server.stop()
        await meter.close()
        broker.stop()
