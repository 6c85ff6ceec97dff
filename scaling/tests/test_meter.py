"""Loads of pools on a real broker, where markers, aborted transactions and dead workers are."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from odradek_local.ports import free_port
from odradek_local.testing import create_topics
from odradek_runtime.brokers import Brokers
from odradek_runtime.kafka_security import PLAINTEXT
from odradek_runtime.names import Names
from odradek_runtime.positions import format_unfinished
from odradek_scaling import meter as metering
from odradek_scaling.load import LoadUnknownError, PoolLoad
from odradek_scaling.meter import Meter
from odradek_scaling.telling import Address
from odradek_schemas.topics import ENV, TOOL_ACTIONS, TRAJECTORIES, VERIFIER

pytestmark = pytest.mark.kafka

PARTITIONS = 2


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "FRESH_SECONDS", 0.0)


@pytest.fixture
async def topics(kafka: str, prefix: str) -> Names:
    await create_topics(
        kafka, prefix, PARTITIONS, TOOL_ACTIONS.name, TRAJECTORIES.name, "judge-results", "rescores"
    )
    return Names(prefix)


@asynccontextmanager
async def measuring(meter: Meter) -> AsyncIterator[Meter]:
    try:
        yield meter
    finally:
        await meter.close()


async def write(kafka: str, topic: str, records: int, commit: bool = True) -> None:
    """Write records to partition 0 in one transaction."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka, transactional_id=f"{topic}-test")
    await producer.start()
    try:
        await producer.begin_transaction()
        for _ in range(records):
            await producer.send_and_wait(topic, b"{}", partition=0)
        await (producer.commit_transaction() if commit else producer.abort_transaction())
    finally:
        await producer.stop()


@asynccontextmanager
async def member(kafka: str, names: Names, topic: str) -> AsyncIterator[AIOKafkaConsumer]:
    """One that has joined the env-worker's group."""
    consumer = AIOKafkaConsumer(
        names.topic(topic),
        bootstrap_servers=kafka,
        group_id=names.group(ENV),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    await consumer.start()
    try:
        async with asyncio.timeout(20):
            while len(consumer.assignment()) < PARTITIONS:
                await consumer.getmany(timeout_ms=50)
        yield consumer
    finally:
        await consumer.stop()


async def tell(consumer: AIOKafkaConsumer, names: Names, offset: int, unfinished: Sequence[int] = ()) -> None:
    where = TopicPartition(names.topic(TOOL_ACTIONS.name), 0)
    await consumer.commit({where: OffsetAndMetadata(offset, format_unfinished(offset, unfinished))})


@asynccontextmanager
async def worker(owned: int, sessions: int) -> AsyncIterator[Address]:
    """One that tells its metrics."""

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=f"odradek_owned_partitions {owned}\nodradek_open_sessions {sessions}\n")

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield ("127.0.0.1", runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def test_the_backlog_is_what_no_worker_has_finished_and_markers_are_none(
    kafka: str, topics: Names
) -> None:
    topic = topics.topic(TOOL_ACTIONS.name)
    async with measuring(Meter(Brokers(kafka, PLAINTEXT), topics)) as meter:
        assert await meter.load(ENV) == PoolLoad(pool=ENV, backlog=0, in_flight=0, load=0, members=0)
        await write(kafka, topic, 3)
        await write(kafka, topic, 2, commit=False)
        await write(kafka, topic, 1)
        assert (await meter.load(ENV)).backlog == 4
        async with member(kafka, topics, TOOL_ACTIONS.name) as consumer:
            await tell(consumer, topics, 2, [0])
            assert await meter.load(ENV) == PoolLoad(pool=ENV, backlog=3, in_flight=1, load=3, members=1)
            await tell(consumer, topics, 8)  # the last record is at 7, its marker behind it
        # Nobody is left who would commit past the marker.
        assert await meter.load(ENV) == PoolLoad(pool=ENV, backlog=0, in_flight=0, load=0, members=0)


async def test_a_long_backlog_is_not_read(kafka: str, topics: Names) -> None:
    await write(kafka, topics.topic(TRAJECTORIES.name), 100)
    async with measuring(Meter(Brokers(kafka, PLAINTEXT), topics)) as meter:
        load = await meter.load(VERIFIER)
    assert load.backlog == 101  # with its marker: by offsets


async def test_open_sessions_keep_a_pool_and_silence_never_shrinks_it(kafka: str, topics: Names) -> None:
    answering: list[Address] = []

    async def find(pool: str) -> Sequence[Address]:
        return answering

    async with (
        measuring(Meter(Brokers(kafka, PLAINTEXT), topics, find)) as meter,
        member(kafka, topics, TOOL_ACTIONS.name) as consumer,
        worker(owned=1, sessions=5) as one,
        worker(owned=1, sessions=2) as other,
    ):
        await tell(consumer, topics, 0)
        with pytest.raises(LoadUnknownError, match=r"own 2 of 2 partitions don't answer"):
            await meter.load(ENV)
        answering[:] = [one, other]
        assert (await meter.load(ENV)).load == 7
        answering[:] = [one, ("127.0.0.1", free_port())]
        with pytest.raises(LoadUnknownError, match=r"own 1 of 2 partitions don't answer"):
            await meter.load(ENV)
        await write(kafka, topics.topic(TOOL_ACTIONS.name), 9)
        assert (await meter.load(ENV)).load == 9, "what is known is more than all there was before"


async def test_missing_topics_are_named_and_other_pools_measured(kafka: str, prefix: str) -> None:
    await create_topics(kafka, prefix, PARTITIONS, TOOL_ACTIONS.name)
    async with measuring(Meter(Brokers(kafka, PLAINTEXT), Names(prefix))) as meter:
        assert (await meter.load(ENV)).load == 0
        with pytest.raises(LoadUnknownError, match=r"trajectories.*odradek topics apply"):
            await meter.load(VERIFIER)
