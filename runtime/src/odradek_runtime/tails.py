"""Reading small parts of a deployment's topics: from where a worker stands to the end, or one record by its id."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.groups import Part
from odradek_runtime.intake import SOMEWHERE
from odradek_runtime.leaving import stopped
from odradek_runtime.names import Names
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import Envelope, RecordError, read_envelope
from odradek_schemas.topics import Topic

_POLL_MS = 200
_BEFORE = timedelta(seconds=1)
_AFTER = timedelta(seconds=15)
"""A request is written in one transaction with what caused it: their times differ by less than a cycle's deadline."""


class Tails:
    """Committed records only."""

    def __init__(self, consumer: AIOKafkaConsumer, names: Names) -> None:
        self._consumer = consumer
        self._names = names

    async def bounds(self, parts: Iterable[Part]) -> dict[Part, tuple[int, int]]:
        """The first offset and the last stable one of some partitions: what is behind an open transaction is not read."""
        places = {self._place(part): part for part in parts}
        starts = await self._consumer.beginning_offsets(list(places))
        ends = await self._consumer.end_offsets(list(places))
        return {part: (starts[place], ends[place]) for place, part in places.items()}

    async def read(
        self, spans: Mapping[Part, tuple[int, int]]
    ) -> AsyncIterator[tuple[Part, RawRecord, Envelope]]:
        """The records of some partitions, each from one offset to before another; unreadable headers are skipped."""
        async for part, record in self._records(spans):
            envelope = _envelope(record)
            if envelope is not None:
                yield part, record, envelope

    async def count(self, spans: Mapping[Part, tuple[int, int]]) -> dict[Part, int]:
        """How many records lie in each span: its offsets less those of transactions' markers and aborted records."""
        counts = dict.fromkeys(spans, 0)
        async for part, _record in self._records(spans):
            counts[part] += 1
        return counts

    async def _records(self, spans: Mapping[Part, tuple[int, int]]) -> AsyncIterator[tuple[Part, RawRecord]]:
        places = {self._place(part): part for part, (start, end) in spans.items() if start < end}
        self._consumer.assign(list(places))
        for place, part in places.items():
            self._consumer.seek(place, spans[part][0])
        while pending := [
            p for p, part in places.items() if await self._consumer.position(p) < spans[part][1]
        ]:
            batches = await self._consumer.getmany(*pending, timeout_ms=_POLL_MS)
            for place, records in batches.items():
                for record in records:
                    if record.offset < spans[places[place]][1]:
                        yield places[place], record

    async def first(self, part: Part, offset: int, end: int) -> RawRecord | None:
        """The first record at `offset` or later, before `end`: only transaction markers may be left."""
        async for _part, record, _envelope in self.read({part: (offset, end)}):
            return record
        return None

    async def find(
        self, topic: Topic, number: int, event_id: str, near: datetime, end: int
    ) -> RawRecord | None:
        """The record of an event that was written at about a known time."""
        place = self._place((topic.name, number))
        self._consumer.assign([place])
        found = await self._consumer.offsets_for_times({place: _milliseconds(near - _BEFORE)})
        start = found[place].offset if found.get(place) else end
        async for _part, record, envelope in self.read({(topic.name, number): (start, end)}):
            if envelope.id == event_id:
                return record
            if record.timestamp > _milliseconds(near + _AFTER):
                return None
        return None

    def _place(self, part: Part) -> TopicPartition:
        return TopicPartition(self._names.topic(part[0]), part[1])


@asynccontextmanager
async def open_tails(brokers: Brokers, names: Names) -> AsyncIterator[Tails]:
    """Connect to a deployment.

    Raises:
        KafkaError: it does not answer.
    """
    consumer = AIOKafkaConsumer(
        **brokers.client(),
        group_id=None,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=1_000_000,
    )
    try:
        await consumer.start()
        yield Tails(consumer, names)
    finally:
        await stopped(consumer)


def _envelope(record: RawRecord) -> Envelope | None:
    try:
        return read_envelope(record.headers, SOMEWHERE)
    except RecordError:
        return None


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
