"""A reader that is there all the time: what `read_committed` shows of the log, and when."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord, TopicPartition

from odradek_schemas.codec import RecordError, decode, read_envelope
from odradek_schemas.events import Event, RecordCoordinates
from odradek_schemas.topics import BY_NAME, TOPICS
from tests.support.log import PARTITIONS, Log

DECODED = ("runs", "rewards", "dead-letters")
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Sight:
    """One committed record: when it was made (`written`, seconds of the epoch), and when it could be read (`seen`)."""

    topic: str
    partition: int
    offset: int
    source: str
    type: str
    id: str
    run: str | None
    rollout: str | None
    written: float
    seen: float
    event: Event | None


class Watch:
    """Sees everything from `start` on, except what `forget` let go."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=log.bootstrap,
            isolation_level="read_committed",
            fetch_max_wait_ms=50,
            auto_offset_reset="earliest",
        )
        self._task: asyncio.Task[None] | None = None
        self.sights: list[Sight] = []
        self.tally: Counter[tuple[str | None, str]] = Counter()
        """How many records each run has on each topic."""

    async def start(self) -> None:
        await self._consumer.start()
        partitions = [
            TopicPartition(self._log.prefix + topic.name, number)
            for topic in TOPICS
            for number in range(1 if topic.single else PARTITIONS)
        ]
        self._consumer.assign(partitions)
        await self._consumer.seek_to_end(*partitions)
        self._task = asyncio.create_task(self._look())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._consumer.stop()

    def forget(self) -> None:
        self.sights = []
        self.tally.clear()

    def of(self, run: str, *topics: str) -> list[Sight]:
        """What was seen of `run`, of all topics if none is named, in the order of each partition."""
        return [s for s in self.sights if s.run == run and (not topics or s.topic in topics)]

    def count(self, run: str, topic: str) -> Counter[str]:
        """How many records each rollout of `run` has on `topic`."""
        return Counter(s.rollout or "" for s in self.of(run, topic))

    async def until(self, seen: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until `seen()`. Raises TimeoutError, which says `what` did not come."""
        end = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > end:
                raise TimeoutError(f"{what}: not within {seconds:.0f} s")
            if self._task is not None and self._task.done():
                await self._task
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        while True:
            fetched = await self._consumer.getmany(timeout_ms=200)
            seen = time.time()
            for raw in (raw for records in fetched.values() for raw in records):
                with suppress(
                    RecordError
                ):  # not an event: a tombstone, or a record that is there to be refused
                    sight = self._sight(raw, seen)
                    self.sights.append(sight)
                    self.tally[sight.run, sight.topic] += 1

    def _sight(self, raw: ConsumerRecord, seen: float) -> Sight:
        topic = raw.topic.removeprefix(self._log.prefix)
        where = RecordCoordinates(topic=topic, partition=raw.partition, offset=raw.offset)
        envelope = read_envelope(raw.headers, where)
        event = None
        if topic in DECODED and raw.value:
            event = decode(BY_NAME[topic], envelope, raw.value, where)
        return Sight(
            topic=topic,
            partition=raw.partition,
            offset=raw.offset,
            source=dict(raw.headers).get("ce_source", b"").decode(),
            type=envelope.type,
            id=envelope.id,
            run=envelope.run_id,
            rollout=envelope.rollout_id,
            written=raw.timestamp / 1000,
            seen=seen,
            event=event,
        )
