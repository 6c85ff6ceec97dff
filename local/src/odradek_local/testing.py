"""pytest fixtures on real servers: `kafka` and `valkey` (one for the whole session) and `prefix` (one for each test).

Registered by `pytest_plugins = ["odradek_local.testing"]` in the root conftest.py.
"""

import asyncio
import os
import uuid
from collections.abc import Iterator

import pytest

from odradek_local.kafka import KafkaBroker
from odradek_local.valkey import ValkeyServer


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap address of a broker, shared by the session; `ODRADEK_TEST_BOOTSTRAP` names one that runs."""
    running = os.environ.get("ODRADEK_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), port=0)
    broker.start()
    try:
        broker.wait_healthy()
        yield broker.bootstrap
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyServer]:
    """A Valkey that answers, shared by the session."""
    server = ValkeyServer(tmp_path_factory.mktemp("valkey") / "log", port=0)
    server.start()
    try:
        asyncio.run(server.healthy())
        yield server
    finally:
        server.stop()


@pytest.fixture
def prefix() -> str:
    """A topic prefix that no other test has, so that tests share a broker and never a record."""
    return f"t{uuid.uuid4().hex[:10]}."
