"""`trajectories` read apart from the worker's own position: pieces for re-scores, single records for judged ones."""

import asyncio
from dataclasses import dataclass

from aiokafka.errors import KafkaError, OffsetOutOfRangeError
from aiokafka.structs import TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.errors import CommitFailedError
from odradek_runtime.intake import Intake
from odradek_runtime.log_reader import log_bounds, read_log
from odradek_runtime.names import Names
from odradek_runtime.records import RawRecord, Record
from odradek_schemas.codec import CLAIM_CHECK_BYTES, InvalidValue
from odradek_schemas.events import RecordCoordinates, TrajectoryFinished
from odradek_schemas.topics import TRAJECTORIES

READ_SECONDS = 60.0
"""Deadline of reading a piece."""
MOST_RECORDS = 2000
MOST_BYTES = 8 << 20
"""Of one piece: its trajectories are in memory at once, and its rewards go into one transaction."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Records in log order; `next` is where the next piece begins."""

    records: list[Record]
    next: int


class Trajectories:
    """Reads any partition."""

    def __init__(self, brokers: Brokers, names: Names, intake: Intake) -> None:
        self._brokers = brokers
        self._topic = names.topic(TRAJECTORIES.name)
        self._intake = intake

    async def piece(self, partition: int, start: int, end: int, most: int = MOST_RECORDS) -> Piece:
        """The records from `start` on, `most` of them or fewer. What retention has deleted is passed over.

        Raises:
            CommitFailedError: the broker does not answer; nobody's work is to blame, it is to be begun again.
        """
        place = TopicPartition(self._topic, partition)
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._there(place, start, end, most)
        except (KafkaError, TimeoutError) as error:
            raise CommitFailedError(f"{place.topic}[{partition}] can't be read: {error!r}") from error

    async def _there(self, place: TopicPartition, start: int, end: int, most: int) -> Piece:
        try:
            return await self._read(place, start, end, most)
        except OffsetOutOfRangeError:
            first, last = (await log_bounds(self._brokers, [place]))[place]
            return await self._read(place, max(start, first), min(end, last), most)

    async def _read(self, place: TopicPartition, start: int, end: int, most: int) -> Piece:
        records: list[Record] = []
        size = 0
        async for batch in read_log(self._brokers, place, start, end):
            for raw in batch:
                records.append(self._opened(raw))
                size += weight(records[-1])
                if len(records) == most or size >= MOST_BYTES:
                    return Piece(records, raw.offset + 1)
        return Piece(records, end)

    async def event(self, record: Record) -> TrajectoryFinished:
        """The event of a record, from the blob store where it lies there.

        Raises:
            RecordError: it can't be read.
        """
        event = await self._intake.read(record)
        assert isinstance(event, TrajectoryFinished)
        return event

    async def read(self, at: RecordCoordinates) -> TrajectoryFinished:
        """The trajectory that lies at `at`.

        Raises:
            RecordError: it is not there any more, or can't be read.
        """
        piece = await self.piece(at.partition, at.offset, at.offset + 1)
        for record in piece.records:
            return await self.event(record)
        raise InvalidValue(at, "the trajectory is not in the log any more")

    def _opened(self, raw: RawRecord) -> Record:
        record, error = self._intake.open(TRAJECTORIES.name, raw)
        if error is not None:
            return record._replace(value=b"")
        return record


def weight(record: Record) -> int:
    """Bytes. One whose value lies in the blob store has more than a record holds; how many, only reading tells."""
    return len(record.value) if record.envelope.dataref is None else CLAIM_CHECK_BYTES
