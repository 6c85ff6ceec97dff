"""pytest fixtures on real servers: `kafka` and `valkey` (one for the whole session) and `prefix` (one for each test).

`create_topics` makes those topics that a test needs.

Registered by `pytest_plugins = ["odradek_local.testing"]` in the root conftest.py.
"""

import asyncio
import os
import uuid
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code
from aiokafka.structs import TopicPartition

from odradek_local.kafka import KafkaBroker
from odradek_local.valkey import ValkeyServer

TOPICS_DEADLINE_S = 30.0


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


async def create_topics(bootstrap: str, prefix: str, partitions: int, *names: str) -> None:
    """Creates some of the declared topics, by name, and waits until the broker leads them.

    Cheaper than `apply_topics`: all the topics take the broker half a second, and whoever lists its topics has to
    read through those of every test before. Raises KafkaError, TimeoutError.
    """
    # Here: this module is loaded with pytest, whatever is tested.
    from odradek_runtime.topics import wanted_configs, wanted_partitions
    from odradek_schemas.topics import BY_NAME

    new = [
        NewTopic(
            prefix + name,
            wanted_partitions(BY_NAME[name], partitions),
            1,
            topic_configs=wanted_configs(BY_NAME[name]),
        )
        for name in names
    ]
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, retry_backoff_ms=20)
    try:
        async with asyncio.timeout(TOPICS_DEADLINE_S):
            await admin.start()
            for name, code, message in (await admin.create_topics(new)).topic_errors:
                if code:
                    raise for_code(code)(f"topic {name}: {message}")
            # The broker tells of a partition before it leads it: only its answer for each says that it does.
            await consumer.start()
            await consumer.end_offsets(
                [
                    TopicPartition(topic.name, number)
                    for topic in new
                    for number in range(topic.num_partitions)
                ]
            )
    finally:
        await consumer.stop()
        await admin.close()
