"""Reading a deployment's topics as anybody may: committed records only, no group, filtered by header, with a deadline."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord, TopicPartition

from odradek_cli.deployment import Deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.merging import merge
from odradek_runtime.blobs import BlobDamaged, BlobNotFound, BlobStore, open_blob_store
from odradek_runtime.growing import read_layout
from odradek_runtime.leaving import stopped
from odradek_runtime.partitioning import Layout, partition_of
from odradek_runtime.records import RawRecord
from odradek_runtime.unreachable import why_unreachable
from odradek_schemas.codec import (
    BlobCorrupt,
    BlobMissing,
    Envelope,
    RecordError,
    decode,
    encode,
    read_envelope,
)
from odradek_schemas.events import Event, RecordCoordinates
from odradek_schemas.topics import CONTROL, RUNS, Topic

CONNECT_SECONDS = 10.0
SCAN_SECONDS = 120.0
_POLL_MS = 200
_FETCH_WAIT_MS = 50
"""How long a fetch may wait at the end of a partition. A fetch holds up all others of the same broker."""
_CLOCK_SKEW = timedelta(minutes=10)
_SOURCE = "cli"

Wanted = Callable[[Envelope], bool]


@dataclass(frozen=True, slots=True)
class Found:
    """An event, and where it lies."""

    event: Any
    place: RecordCoordinates


@dataclass
class Log:
    """An open deployment. `unreadable` collects the records that could not be read, which are skipped."""

    deployment: Deployment
    partitions: int
    layout: Layout
    _consumer: AIOKafkaConsumer
    _marks: AIOKafkaConsumer
    _blobs: BlobStore
    unreadable: list[RecordError] = field(default_factory=list)

    def home(self, run_id: str) -> int:
        """Where what is said of a run lies."""
        return self.layout.home(run_id)

    def places(self, rollout_id: str) -> list[int]:
        """Where the records of a rollout may lie, the likeliest first: all of them lie in one of these."""
        return self.layout.places(rollout_id, self.partitions)

    def place(self, topic: Topic, event: Event) -> int:
        """Where to write an event of a run, or of a rollout that has none in the log yet."""
        return self.home(event.key) if topic is RUNS else partition_of(event.key, self.partitions)

    async def bounds(self, parts: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
        """The first offset and the end of some partitions, by logical topic and number; open transactions count."""
        places = {
            TopicPartition(self.deployment.names.topic(name), number): (name, number)
            for name, number in parts
        }
        starts = await self._marks.beginning_offsets(list(places))
        ends = await self._marks.end_offsets(list(places))
        return {part: (starts[place], ends[place]) for place, part in places.items()}

    async def scan(
        self,
        topic: Topic,
        wanted: Wanted = lambda envelope: True,
        *,
        partition: int | None = None,
        since: datetime | None = None,
        within: float = SCAN_SECONDS,
    ) -> list[Found]:
        """All wanted events of `topic` up to its present end, in order within each partition.

        The end is the log's own, behind any open transaction: what was committed before the call is never missed.
        `since` skips what was written more than ten minutes (of clock skew) before.

        Raises:
            CliError: not done within `within` seconds.
        """
        found: list[Found] = []
        await self.each(topic, found.append, wanted, partition=partition, since=since, within=within)
        return found

    async def each(
        self,
        topic: Topic,
        take: Callable[[Found], None],
        wanted: Wanted,
        *,
        partition: int | None = None,
        since: datetime | None = None,
        within: float = SCAN_SECONDS,
    ) -> None:
        """The same, one after another: for who keeps little of each.

        Raises:
            CliError: not done within `within` seconds.
        """
        chosen = range(1 if topic.single else self.partitions) if partition is None else [partition]
        try:
            async with asyncio.timeout(within):
                async for found in self.stream(topic, chosen, wanted, since):
                    take(found)
        except TimeoutError as error:
            raise CliError(
                f"reading {topic.name} took longer than {within:g} s", Exit.NO_STACK, "raise --timeout"
            ) from error

    async def follow(
        self, sources: Iterable[tuple[Topic, int]], wanted: Wanted, since: datetime | None = None
    ) -> AsyncIterator[list[Found]]:
        """The wanted events of some partitions as they come, for ever; an empty list when for a while none came."""
        topics = {self._partition(topic, partition): topic for topic, partition in sources}
        await self._begin(list(topics), since)
        while True:
            batches = await self._consumer.getmany(timeout_ms=_POLL_MS)
            yield [
                found
                for place, records in batches.items()
                for record in records
                if (found := await self._read(topics[place], record, wanted))
            ]

    async def shortened(self, topics: Sequence[Topic]) -> dict[Topic, datetime | None]:
        """From which topics records were deleted, and when the oldest that is left was written (None: none is left)."""
        places = {self._partition(topic, p): topic for topic in topics for p in range(self.partitions)}
        starts = await self._marks.beginning_offsets(list(places))
        cut = [place for place in places if starts[place] > 0]
        left = await self._marks.offsets_for_times(dict.fromkeys(cut, 0)) if cut else {}
        oldest: dict[Topic, datetime | None] = {}
        for place in cut:
            topic, first = places[place], left.get(place)
            written = None if first is None else datetime.fromtimestamp(first.timestamp / 1000, UTC)
            known = oldest.get(topic, written)
            oldest[topic] = None if written is None or known is None else max(written, known)
        return oldest

    async def oldest(self, topics: Iterable[Topic]) -> datetime | None:
        """When the oldest record that is left in `topics` was written; None: none is left."""
        places = [
            self._partition(topic, partition)
            for topic in topics
            for partition in range(1 if topic.single else self.partitions)
        ]
        first = await self._marks.offsets_for_times(dict.fromkeys(places, 0))
        times = [found.timestamp for found in first.values() if found is not None]
        return datetime.fromtimestamp(min(times) / 1000, UTC) if times else None

    async def merged(
        self, topics: Sequence[Topic], partition: int, since: datetime | None = None
    ) -> AsyncIterator[list[tuple[Topic, RawRecord]]]:
        """All records of one partition number of `topics` up to their present ends, by time: see `merging`.

        The ends of the first topic are taken before those of the others: what one of its records came from is there.
        """
        places = {self._partition(topic, partition): topic for topic in topics}
        first, *others = places
        await self._begin(list(places), since)
        ends = await self._marks.end_offsets([first])
        ends |= await self._marks.end_offsets(others)
        async for records in merge(self._consumer, ends):
            yield [(places[place], record) for place, record in records]

    async def stream(
        self, topic: Topic, partitions: Iterable[int], wanted: Wanted, since: datetime | None = None
    ) -> AsyncIterator[Found]:
        """What `scan` finds, one after the other and without a deadline. One at a time for each `Log`."""
        async for record in self._records(topic, partitions, since):
            if found := await self._read(topic, record, wanted):
                yield found

    async def _records(
        self, topic: Topic, partitions: Iterable[int], since: datetime | None
    ) -> AsyncIterator[ConsumerRecord[bytes | None, bytes | None]]:
        """All records up to the present ends, in order within each partition."""
        places = [self._partition(topic, partition) for partition in partitions]
        await self._begin(places, since)
        ends = await self._marks.end_offsets(places)
        while pending := [place for place in places if await self._consumer.position(place) < ends[place]]:
            batches = await self._consumer.getmany(*pending, timeout_ms=_POLL_MS)
            for place, records in batches.items():
                for record in records:
                    if record.offset < ends[place]:
                        yield record

    async def heads(
        self, topic: Topic, partitions: Iterable[int], wanted: Wanted, since: datetime | None = None
    ) -> AsyncIterator[Envelope]:
        """The same by their headers alone: no value is decoded."""
        async for record in self._records(topic, partitions, since):
            envelope = self._envelope(record)
            if envelope is not None and wanted(envelope):
                yield envelope

    async def _begin(self, places: list[TopicPartition], since: datetime | None) -> None:
        self._consumer.assign(places)
        starts = await self._consumer.beginning_offsets(places)
        if since is not None:
            moment = max(0, int((since - _CLOCK_SKEW).timestamp() * 1000))
            later = await self._consumer.offsets_for_times(dict.fromkeys(places, moment))
            ends = await self._consumer.end_offsets(places)
            starts = {p: found.offset if (found := later.get(p)) else ends[p] for p in places}
        for place, start in starts.items():
            self._consumer.seek(place, start)

    async def _read(
        self, topic: Topic, record: ConsumerRecord[bytes | None, bytes | None], wanted: Wanted
    ) -> Found | None:
        """Decode a record, if it is wanted. One that can't be read is noted; one without a value is a tombstone."""
        envelope = self._envelope(record)
        if envelope is None or record.value is None or not wanted(envelope):
            return None
        place = _place(record)
        try:
            return Found(
                decode(topic, envelope, await self.value(envelope, record.value, place), place), place
            )
        except RecordError as error:
            self.unreadable.append(error)
            return None

    def _envelope(self, record: ConsumerRecord[bytes | None, bytes | None]) -> Envelope | None:
        """What its headers say; None for a tombstone, and for headers that can't be read, which are noted."""
        if record.value is None:
            return None
        try:
            return read_envelope(record.headers, _place(record))
        except RecordError as error:
            self.unreadable.append(error)
            return None

    async def blob(self, reference: str) -> bytes:
        """The content of a blob.

        Raises:
            BlobNotFound, BlobDamaged: it is not there, or is another one.
        """
        return await self._blobs.get(reference)

    async def value(self, envelope: Envelope, value: bytes, place: RecordCoordinates) -> bytes:
        """The record's value, from the blob store where it lies there.

        Raises:
            BlobMissing, BlobCorrupt: it is not there, or is another one.
        """
        if envelope.dataref is None:
            return value
        try:
            return await self._blobs.get(envelope.dataref)
        except BlobNotFound as error:
            raise BlobMissing(place, str(error)) from error
        except BlobDamaged as error:
            raise BlobCorrupt(place, str(error)) from error

    def _partition(self, topic: Topic, partition: int) -> TopicPartition:
        return TopicPartition(self.deployment.names.topic(topic.name), partition)


@asynccontextmanager
async def open_log(deployment: Deployment) -> AsyncIterator[Log]:
    """Connect to a deployment for reading.

    Raises:
        CliError: Kafka does not answer, or the topics are not there.
    """
    consumer, marks = _consumer(deployment, "read_committed"), _consumer(deployment, "read_uncommitted")
    try:
        partitions = await _connected(consumer, marks, deployment)
        layout = await _read_layout(deployment, partitions)
        yield Log(deployment, partitions, layout, consumer, marks, open_blob_store(deployment.blob_store))
    finally:
        await stopped(consumer, marks)


async def send(log: Log, topic: Topic, event: Event) -> None:
    """Write one event where its key belongs, and return when every replica has it.

    Raises:
        CliError: it was not acknowledged in time.
    """
    encoded = encode(event, _SOURCE)
    name = log.deployment.names.topic(topic.name)
    producer = AIOKafkaProducer(**log.deployment.brokers.client(), acks="all", enable_idempotence=True)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await producer.start()
            await producer.send_and_wait(
                name,
                encoded.value,
                key=encoded.key,
                partition=log.place(topic, event),
                headers=list(encoded.headers),
            )
    except TimeoutError as error:
        raise _unreachable(log.deployment, f"did not acknowledge {event.type} in time") from error
    finally:
        await stopped(producer)


def _consumer(deployment: Deployment, isolation_level: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        **deployment.brokers.client(),
        group_id=None,
        isolation_level=isolation_level,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=4_000_000,
        fetch_max_wait_ms=_FETCH_WAIT_MS,
    )


async def _connected(consumer: AIOKafkaConsumer, marks: AIOKafkaConsumer, deployment: Deployment) -> int:
    """Connect, and say how many partitions the deployment's topics have."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await consumer.start()
            await marks.start()
            return await _count_partitions(consumer, deployment)
    except TimeoutError as error:
        raise _unreachable(deployment, f"did not answer within {CONNECT_SECONDS:g} s") from error
    except KafkaError as error:
        why = await why_unreachable(deployment.brokers) or str(error)
        raise _unreachable(deployment, f"does not answer ({why})") from error


async def _read_layout(deployment: Deployment, partitions: int) -> Layout:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            return await read_layout(deployment.brokers, deployment.names, partitions)
    except (TimeoutError, KafkaError) as error:
        raise _unreachable(deployment, f"did not give {CONTROL.name} ({error!r})") from error


async def _count_partitions(consumer: AIOKafkaConsumer, deployment: Deployment) -> int:
    name = deployment.names.topic(RUNS.name)
    if name not in await consumer.topics():
        raise CliError(
            f"Kafka at {deployment.brokers} has no topic {name!r}",
            Exit.NO_STACK,
            "`odradek topics apply` creates the topics; ODRADEK_TOPIC_PREFIX names another deployment",
        )
    first = TopicPartition(name, 0)
    consumer.assign([first])
    await consumer.beginning_offsets([first])  # returns once the topic's own metadata are there
    return len(consumer.partitions_for_topic(name) or ())


def _place(record: ConsumerRecord[bytes | None, bytes | None]) -> RecordCoordinates:
    return RecordCoordinates(topic=record.topic, partition=record.partition, offset=record.offset)


def _unreachable(deployment: Deployment, what: str) -> CliError:
    return CliError(
        f"Kafka at {deployment.brokers} {what}",
        Exit.NO_STACK,
        "see `odradek status` for the local stack, or ODRADEK_BOOTSTRAP_SERVERS for another",
    )
