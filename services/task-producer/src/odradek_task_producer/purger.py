"""The purger: from time to time deletes what every worker has read and nobody needs to look at any more."""

import asyncio
import time

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.structs import TopicPartition

from odradek_runtime.leaving import stopped
from odradek_runtime.logs import get_logger
from odradek_runtime.names import Names
from odradek_runtime.positions import Position, parse_position
from odradek_schemas.topics import WORKERS
from odradek_task_producer.metrics import ProducerMetrics
from odradek_task_producer.purge import Part, purge_offsets, purged_topics, unread_bounds
from odradek_task_producer.settings import ProducerSettings

log = get_logger(__name__)

SECONDS_A_DAY = 86_400


class Purger:
    """Runs beside the fold of partition 0, so that there is one in a deployment (two would do no harm)."""

    def __init__(self, settings: ProducerSettings, metrics: ProducerMetrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._names = Names(settings.topic_prefix)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def purge(self) -> dict[Part, int]:
        """Purge once. Returns before which offset each part was shortened.

        Raises:
            TimeoutError: it took longer than its deadline.
            KafkaError: the broker can't be reached or refuses.
            PositionError: a committed position can't be understood.
        """
        client = self._settings.brokers.client()
        admin = AIOKafkaAdminClient(**client)
        reader = AIOKafkaConsumer(**client)
        try:
            async with asyncio.timeout(self._settings.purge_timeout_seconds):
                await admin.start()
                await reader.start()
                return await self._purge(admin, reader)
        finally:
            await stopped(reader)
            await admin.close()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._settings.purge_interval_seconds)
            try:
                purged = await self.purge()
            except Exception as error:
                log.error("purging failed, trying again later", exc_info=error)
                self._metrics.purge_ended(False)
            else:
                self._metrics.purge_ended(True)
                log.info(
                    "purged", records_before={f"{topic}-{p}": offset for (topic, p), offset in purged.items()}
                )

    async def _purge(self, admin: AIOKafkaAdminClient, reader: AIOKafkaConsumer) -> dict[Part, int]:
        commits = {worker: await self._commits(admin, worker) for worker in WORKERS}
        unread = unread_bounds(commits, self._settings.partitions)
        if not unread:
            return {}
        offsets = purge_offsets(
            unread, await self._first_kept(reader, unread), await self._starts(reader, unread)
        )
        if offsets:
            await admin.delete_records(
                {self._partition(part): RecordsToDelete(offset) for part, offset in offsets.items()},
                timeout_ms=int(self._settings.purge_timeout_seconds * 1000),
            )
        return offsets

    async def _commits(self, admin: AIOKafkaAdminClient, worker: str) -> dict[Part, Position]:
        """What the group of `worker` has committed, by logical topic and partition."""
        asked = [
            self._partition((topic.name, partition))
            for topic in purged_topics()
            for partition in range(self._settings.partitions)
        ]
        found = await admin.list_consumer_group_offsets(self._names.group(worker), partitions=asked)
        return {
            (self._names.logical(where.topic), where.partition): parse_position(
                commit.offset, commit.metadata
            )
            for where, commit in found.items()
            if commit.offset >= 0
        }

    async def _first_kept(self, reader: AIOKafkaConsumer, parts: dict[Part, int]) -> dict[Part, int | None]:
        oldest = int((time.time() - self._settings.keep_days * SECONDS_A_DAY) * 1000)
        found = await reader.offsets_for_times({self._partition(part): oldest for part in parts})
        return {
            part: None if (at := found.get(self._partition(part))) is None else at.offset for part in parts
        }

    async def _starts(self, reader: AIOKafkaConsumer, parts: dict[Part, int]) -> dict[Part, int]:
        found = await reader.beginning_offsets([self._partition(part) for part in parts])
        return {part: found[self._partition(part)] for part in parts}

    def _partition(self, part: Part) -> TopicPartition:
        topic, partition = part
        return TopicPartition(self._names.topic(topic), partition)
