"""Writing single events apart from any partition's transactions: for what enters the log from elsewhere than a topic.

The writer owns no partition, so its records come at least once: each has an id by which its readers know it again.
A record is in the log when `write` returns.
"""

import asyncio

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from odradek_runtime import tuning
from odradek_runtime.blobs import BlobStore
from odradek_runtime.brokers import Brokers
from odradek_runtime.leaving import stopped
from odradek_runtime.names import Names
from odradek_runtime.trace import traceparent
from odradek_schemas.codec import CLAIM_CHECK_BYTES, encode, with_reference
from odradek_schemas.events import Event
from odradek_schemas.topics import BY_NAME


class NotWrittenError(Exception):
    """The log did not take an event, as far as is known: it may still be there."""


class LogWriter:
    """An idempotent producer (KIP-98) of this process; `seconds` is the deadline of one write."""

    def __init__(self, brokers: Brokers, source: str, names: Names, blobs: BlobStore, seconds: float) -> None:
        self._source = source
        self._names = names
        self._blobs = blobs
        self._seconds = seconds
        self._producer = AIOKafkaProducer(
            **brokers.client(),
            client_id=f"{source}-writer",
            enable_idempotence=True,
            request_timeout_ms=int(seconds * 1000),
            max_batch_size=tuning.MAX_BATCH_BYTES,
            max_request_size=2 * tuning.MAX_BATCH_BYTES,
        )

    async def start(self) -> None:
        await self._producer.start()

    async def stop(self) -> None:
        await stopped(self._producer)

    async def write(self, topic: str, event: Event, partition: int) -> None:
        """Append `event` to partition number `partition` of logical topic `topic`.

        Raises:
            NotWrittenError: the broker or the blob store did not answer in time, or refused.
        """
        try:
            async with asyncio.timeout(self._seconds):
                await self._write(topic, event, partition)
        except (KafkaError, TimeoutError, OSError) as error:
            raise NotWrittenError(f"{event.id}: {type(error).__name__}: {error}") from error

    async def _write(self, topic: str, event: Event, partition: int) -> None:
        record = encode(event, self._source, traceparent(event))
        if record.value is not None and len(record.value) > CLAIM_CHECK_BYTES:
            record = with_reference(record, await self._blobs.put(record.value, BY_NAME[topic].retention))
        name = self._names.topic(topic)
        if partition not in await self._producer.partitions_for(name):
            await self._producer.client.force_metadata_update()  # it may have been added
        await self._producer.send_and_wait(
            name,
            record.value,
            record.key,
            partition=partition,
            headers=list(record.headers),
        )
