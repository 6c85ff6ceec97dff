"""Reading one partition of a topic from an offset to its end: changelogs, and `control` at the start."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.leaving import stopped
from odradek_runtime.records import RawRecord


async def log_bounds(
    brokers: Brokers, partitions: list[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """The first offset and the high watermark of each partition.

    Read uncommitted: the end as the broker has it, beyond any transaction that is still open.
    """
    async with _reading(brokers, isolation_level="read_uncommitted") as consumer:
        starts = await consumer.beginning_offsets(partitions)
        ends = await consumer.end_offsets(partitions)
    return {partition: (starts[partition], ends[partition]) for partition in partitions}


async def read_log(
    brokers: Brokers, partition: TopicPartition, start: int, end: int
) -> AsyncIterator[list[RawRecord]]:
    """Yield the committed records of `partition` in `[start, end)`, in order, as they arrive.

    Ends when the consumer's *position* has reached `end`: transaction markers end a log, so the last record's offset
    plus one never does.
    """
    if start >= end:
        return
    async with _reading(
        brokers,
        isolation_level="read_committed",
        auto_offset_reset="none",
        enable_auto_commit=False,
        max_partition_fetch_bytes=4_000_000,
    ) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, start)
        while await consumer.position(partition) < end:
            fetched = await consumer.getmany(timeout_ms=200, max_records=5000)
            records = [record for record in fetched.get(partition, ()) if record.offset < end]
            if records:
                yield records
            await asyncio.sleep(0)


async def offsets_since(
    brokers: Brokers, partitions: list[TopicPartition], since: datetime
) -> dict[TopicPartition, int]:
    """The first offset of each partition whose record is as young as `since`; its end where there is none."""
    async with _reading(brokers, isolation_level="read_uncommitted") as consumer:
        wanted = max(0, int(since.timestamp() * 1000))
        found = await consumer.offsets_for_times(dict.fromkeys(partitions, wanted))
        ends = await consumer.end_offsets(partitions)
    return {p: ends[p] if (at := found.get(p)) is None else at.offset for p in partitions}


@asynccontextmanager
async def _reading(brokers: Brokers, **settings: Any) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer in no group; aiokafka's own context manager may hide an error by one of its own."""
    consumer = AIOKafkaConsumer(**brokers.client(), group_id=None, **settings)
    try:
        await consumer.start()
        yield consumer
    finally:
        await stopped(consumer)
