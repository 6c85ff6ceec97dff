"""Asking for runs and counting what the log says of them, by the headers of records wherever those suffice."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from benchmarks.harness.deployment import Deployment
from odradek_runtime.names import Names
from odradek_runtime.partitioning import partition_of
from odradek_runtime.progress import positions_record
from odradek_schemas.codec import decode, encode, read_envelope
from odradek_schemas.events import Event, RecordCoordinates, RunFinished, RunRequested
from odradek_schemas.topics import BY_NAME, RUNS

READ_SECONDS = 120.0
_MOST_RECORDS = 5000

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Losses:
    """Rollouts without a record, and records beyond one a rollout, of all topics that were counted."""

    lost: int
    duplicate: int


class Log:
    """The topics of one deployment, for a `read_committed` reader."""

    def __init__(self, deployment: Deployment) -> None:
        self._bootstrap = deployment.bootstrap
        self._partitions = deployment.partitions
        self.names = Names(deployment.prefix)

    async def request(self, run: RunRequested) -> None:
        """Publish a request for a run."""
        encoded = encode(run, "benchmarks")
        async with AIOKafkaProducer(bootstrap_servers=self._bootstrap) as producer:
            await producer.send_and_wait(
                self.names.topic(RUNS.name),
                encoded.value,
                encoded.key,
                partition_of(run.key, self._partitions),
                headers=list(encoded.headers),
            )

    async def finished(self, run_id: str, seconds: float) -> RunFinished:
        """Wait for the run's end. Raises TimeoutError."""
        partition = TopicPartition(self.names.topic(RUNS.name), partition_of(run_id, self._partitions))
        async with asyncio.timeout(seconds), self._consumer() as consumer:
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            while True:
                event = event_of(RUNS.name, await consumer.getone())
                if isinstance(event, RunFinished) and event.run_id == run_id:
                    return event

    async def ends(self, *topics: str) -> Offsets:
        """Where the topics end now: a place to read from later."""
        async with self._consumer() as consumer:
            return dict(await consumer.end_offsets(self._of(topics)))

    async def losses(self, run_id: str, planned: int, since: Offsets) -> Losses:
        """Count the run's records in each of the topics of `since`: there must be one a rollout."""
        counts: dict[str, Counter[str]] = {partition.topic: Counter() for partition in since}
        async for raw in self.records(since):
            envelope = read_envelope(raw.headers, _where(raw))
            if envelope.run_id == run_id and envelope.rollout_id:
                counts[raw.topic][envelope.rollout_id] += 1
        return Losses(
            lost=sum(planned - len(found) for found in counts.values()),
            duplicate=sum(found.total() - len(found) for found in counts.values()),
        )

    async def events(self, run_id: str, since: Offsets) -> AsyncIterator[Any]:
        """The run's events in the topics of `since`, decoded."""
        async for raw in self.records(since):
            if read_envelope(raw.headers, _where(raw)).run_id == run_id:
                yield event_of(self.names.logical(raw.topic), raw)

    async def records(self, since: Offsets) -> AsyncIterator[Any]:
        """All records from `since` to the end as it is now, but tombstones. Raises TimeoutError."""
        async with asyncio.timeout(READ_SECONDS), self._consumer() as consumer:
            consumer.assign(list(since))
            ends = await consumer.end_offsets(list(since))
            for partition, offset in since.items():
                consumer.seek(partition, offset)
            while [p for p in since if await consumer.position(p) < ends[p]]:
                fetched = await consumer.getmany(timeout_ms=200, max_records=_MOST_RECORDS)
                for raw in (raw for records in fetched.values() for raw in records if raw.value):
                    yield raw

    async def rewind(self, worker: str, topic: str) -> None:
        """Let workers of a kind, none of which may run, begin a topic anew."""
        async with AIOKafkaProducer(bootstrap_servers=self._bootstrap) as producer:
            for number in range(self._partitions):
                record = positions_record(worker, number, {topic: (0, "")})
                await producer.send_and_wait(
                    self.names.positions(worker),
                    record.value,
                    record.key,
                    number,
                    headers=list(record.headers),
                )

    def _of(self, topics: tuple[str, ...]) -> list[TopicPartition]:
        return [
            TopicPartition(self.names.topic(topic), number)
            for topic in topics
            for number in range(1 if BY_NAME[topic].single else self._partitions)
        ]

    def _consumer(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )


def _where(raw: Any) -> RecordCoordinates:
    return RecordCoordinates(topic=raw.topic, partition=raw.partition, offset=raw.offset)


def event_of(topic: str, raw: Any) -> Event:
    where = _where(raw)
    event: Event = decode(BY_NAME[topic], read_envelope(raw.headers, where), raw.value, where)
    return event
