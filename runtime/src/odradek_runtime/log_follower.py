"""Following a whole topic in no group: what every process of a service must know, as it is written."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.errors import CommitFailedError, WorkerError
from odradek_runtime.intake import Intake
from odradek_runtime.leaving import stopped
from odradek_runtime.log_reader import log_bounds, offsets_since
from odradek_runtime.logs import get_logger
from odradek_runtime.names import Names
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event

POLL_SECONDS = 1.0
RETRY_SECONDS = 0.5

log = get_logger(__name__)


class LogFollower:
    """Gives `take` each committed event of logical topic `topic` that is as young as `since`."""

    def __init__(
        self, brokers: Brokers, names: Names, topic: str, intake: Intake, take: Callable[[Event], None]
    ) -> None:
        self._brokers = brokers
        self._names = names
        self._topic = topic
        self._intake = intake
        self._take = take
        self._consumer: AIOKafkaConsumer | None = None
        self._following: asyncio.Task[None] | None = None

    async def start(self, partitions: int, since: datetime, seconds: float) -> None:
        """Take what is there now, and go on with what comes.

        Raises:
            WorkerError: that took longer than `seconds`, or the broker would not.
        """
        numbers = [TopicPartition(self._names.topic(self._topic), number) for number in range(partitions)]
        try:
            async with asyncio.timeout(seconds):
                await self._open(numbers, since)
                ends = {p: end for p, (_start, end) in (await log_bounds(self._brokers, numbers)).items()}
                while not await self._reached(ends):
                    await self._poll()
        except (KafkaError, CommitFailedError, TimeoutError) as error:
            raise WorkerError(f"topic {self._topic} can't be read: {error!r}") from error
        self._following = asyncio.create_task(self._follow())
        self._following.add_done_callback(self._ended)

    async def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})
        if self._consumer is not None:
            await stopped(self._consumer)

    async def _open(self, partitions: list[TopicPartition], since: datetime) -> None:
        starts = await offsets_since(self._brokers, partitions, since)
        self._consumer = AIOKafkaConsumer(
            **self._brokers.client(),
            group_id=None,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        await self._consumer.start()
        self._consumer.assign(partitions)
        for partition, offset in starts.items():
            self._consumer.seek(partition, offset)

    async def _reached(self, ends: dict[TopicPartition, int]) -> bool:
        assert self._consumer is not None
        return all([await self._consumer.position(partition) >= end for partition, end in ends.items()])

    async def _follow(self) -> None:
        while True:
            try:
                await self._poll()
            except (KafkaError, CommitFailedError) as error:
                log.warning("topic can't be followed, trying again", topic=self._topic, error=repr(error))
                await asyncio.sleep(RETRY_SECONDS)

    def _ended(self, following: asyncio.Task[None]) -> None:
        if not following.cancelled() and (error := following.exception()) is not None:
            log.error("topic is followed no more", topic=self._topic, error=repr(error), exc_info=error)

    async def _poll(self) -> None:
        assert self._consumer is not None
        fetched = await self._consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000))
        for records in fetched.values():
            for raw in records:
                await self._read(raw)

    async def _read(self, raw: RawRecord) -> None:
        record, error = self._intake.open(self._topic, raw)
        try:
            if error is not None:
                raise error
            self._take(await self._intake.read(record))
        except RecordError as problem:
            log.error("record can't be read", record=str(record.coordinates), reason=problem.reason)
