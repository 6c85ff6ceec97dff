"""One partition of a topic as a broker keeps it: batches of real bytes, transactions, markers, compaction, deletion."""

import struct
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

NO_ERROR, OFFSET_OUT_OF_RANGE = 0, 1
OUT_OF_ORDER = 45

_CRC, _ATTRIBUTES, _LAST_DELTA = 17, 21, 23
_CONTROL = 0x20


class Entry(NamedTuple):
    """A record to be written."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(slots=True)
class Batch:
    """A batch in the log. `aborted` is known once the marker is in."""

    base: int
    last: int
    data: bytes
    producer: int
    control: bool = False
    aborted: bool = False
    records: list[Any] | None = None

    def read(self) -> list[Any]:
        if self.records is None:
            self.records = [] if self.control else list(DefaultRecordBatch(self.data))
        return self.records


@dataclass(slots=True)
class Appended:
    """What the leader remembers of a producer: its last batches, to know a repetition."""

    epoch: int
    next_sequence: int = 0
    recent: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=5))


class Partition:
    """A log. Transactional batches stay invisible to committed readers until their marker is written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = 0
        self.end = 0
        self.batches: list[Batch] = []
        self.open: dict[int, int] = {}
        self._aborted: list[tuple[int, int, int]] = []
        self._producers: dict[int, Appended] = {}

    @property
    def stable(self) -> int:
        """The last stable offset: nothing at or beyond it is decided."""
        return min(self.open.values(), default=self.end)

    def produce(self, data: bytes) -> tuple[int, int]:
        """Append a client's batch; returns an error code and the base offset."""
        batch = DefaultRecordBatch(data)
        known = self._producers.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            known = self._producers[batch.producer_id] = Appended(batch.producer_epoch)
        for sequence, offset in known.recent:
            if sequence == batch.base_sequence:
                return NO_ERROR, offset
        if batch.base_sequence != known.next_sequence:
            return OUT_OF_ORDER, -1
        base = self._append(data, batch.last_offset_delta, batch.producer_id)
        known.next_sequence += batch.last_offset_delta + 1
        known.recent.append((batch.base_sequence, base))
        self.open.setdefault(batch.producer_id, base)
        return NO_ERROR, base

    def write(self, entries: Iterable[Entry], producer: int | None = None) -> int:
        """Append records from outside, in a transaction of `producer` if there is one; returns the base offset."""
        builder = DefaultRecordBatchBuilder(2, 0, int(producer is not None), producer or -1, 0, -1, 1 << 20)
        for delta, entry in enumerate(entries):
            builder.append(delta, 0, entry.key, entry.value, list(entry.headers))
        base = self._append(bytes(builder.build()), delta, -1 if producer is None else producer)
        if producer is not None:
            self.open.setdefault(producer, base)
        return base

    def mark(self, producer: int, epoch: int, commit: bool) -> None:
        """Write the marker that ends a producer's transaction."""
        first = self.open.pop(producer, None)
        if not commit and first is not None:
            self._aborted.append((producer, first, self.end))
            for batch in self.batches:
                if batch.producer == producer and batch.base >= first:
                    batch.aborted = True
        builder = DefaultRecordBatchBuilder(2, 0, 1, producer, epoch, -1, 1 << 10)
        builder.append(0, 0, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), [])
        data = bytearray(builder.build())
        data[_ATTRIBUTES + 1] |= _CONTROL
        self._append(_sealed(data), 0, producer, control=True)

    def fetch(self, offset: int, committed: bool, most: int) -> tuple[int, bytes, list[tuple[int, int]]]:
        """An error code, up to `most` batches, and the aborted transactions among them."""
        if not self.start <= offset <= self.end:
            return OFFSET_OUT_OF_RANGE, b"", []
        limit = self.stable if committed else self.end
        first = bisect_left(self.batches, offset, key=lambda batch: batch.last)
        found = [batch for batch in self.batches[first : first + most] if batch.base < limit]
        if not found:
            return NO_ERROR, b"", []
        upper = found[-1].last
        aborted = [(pid, begin) for pid, begin, end in self._aborted if end >= offset and begin <= upper]
        return NO_ERROR, b"".join(batch.data for batch in found), aborted if committed else []

    def committed(self) -> Iterator[Any]:
        """The records that a committed reader sees now."""
        limit = self.stable
        for batch in self.batches:
            if batch.base < limit and not batch.aborted:
                yield from batch.read()

    def delete_before(self, offset: int) -> None:
        self.start = max(self.start, min(offset, self.stable))
        self.batches = [batch for batch in self.batches if batch.last >= self.start]

    def compact(self, upto: int) -> None:
        """Below `upto` keep of each key the last record, and no marker whose transaction has nothing left.

        As the broker does, never touch what is undecided, nor the log's tail (the active segment).
        """
        tail = self.batches[-1].base if self.batches else 0
        cleaned = [batch for batch in self.batches if batch.last < min(upto, self.stable, tail)]
        newest = {r.key: r.offset for batch in cleaned if not batch.aborted for r in batch.read()}
        kept, left = [], set()
        for batch in cleaned:
            records = [r for r in batch.read() if not batch.aborted and newest[r.key] == r.offset]
            if records:
                kept.append(batch if len(records) == len(batch.read()) else _thinned(batch, records))
                left.add(batch.producer)
            elif batch.control and batch.producer in left:
                kept.append(batch)
        self.batches = kept + self.batches[len(cleaned) :]
        # Else a client would wait for a marker that is gone, and take what is committed for aborted.
        end = cleaned[-1].last if cleaned else -1
        self._aborted = [transaction for transaction in self._aborted if transaction[2] > end]

    def _append(self, data: bytes, last_delta: int, producer: int, control: bool = False) -> int:
        base, self.end = self.end, self.end + last_delta + 1
        self.batches.append(Batch(base, self.end - 1, struct.pack(">q", base) + data[8:], producer, control))
        return base


def _thinned(batch: Batch, records: list[Any]) -> Batch:
    """A batch after the cleaner: it keeps its place, its last offset and what is left of its records."""
    whole = DefaultRecordBatch(batch.data)
    builder = DefaultRecordBatchBuilder(
        2, 0, int(whole.is_transactional), batch.producer, whole.producer_epoch, whole.base_sequence, 1 << 20
    )
    for record in records:
        builder.append(record.offset - batch.base, record.timestamp, record.key, record.value, record.headers)
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, batch.base)
    struct.pack_into(">i", data, _LAST_DELTA, batch.last - batch.base)
    return Batch(batch.base, batch.last, _sealed(data), batch.producer)


def _sealed(data: bytearray) -> bytes:
    struct.pack_into(">I", data, _CRC, calc_crc32c(bytes(data[_ATTRIBUTES:])))
    return bytes(data)
