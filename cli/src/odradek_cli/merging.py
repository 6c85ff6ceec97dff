"""Several partitions as one stream, by the time of their records, up to given ends.

What happened at about the same time comes together, so that whoever folds the stream forgets what is over soon. It is
no order of cause and effect: clocks differ, and records of the same millisecond come in any order.
"""

from bisect import insort
from collections import deque
from collections.abc import AsyncIterator, Mapping

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition

from odradek_runtime.records import RawRecord

_POLL_MS = 200
_BATCH = 2000
"""Most records of all partitions that are fetched at a time."""

Placed = tuple[TopicPartition, RawRecord]


async def merge(
    consumer: AIOKafkaConsumer, ends: Mapping[TopicPartition, int]
) -> AsyncIterator[list[Placed]]:
    """Yield the records before `ends`, the oldest first, in lists of some hundreds.

    `consumer` stands where reading is to begin. Each partition has a record at hand, or has come to its end, before
    the oldest of all is chosen.
    """
    waiting: dict[TopicPartition, deque[RawRecord]] = {place: deque() for place in ends}
    open_ = set(ends)
    while open_ or any(waiting.values()):
        await _fill(consumer, ends, waiting, open_)
        if chosen := _oldest(waiting, open_):
            yield chosen


async def _fill(
    consumer: AIOKafkaConsumer,
    ends: Mapping[TopicPartition, int],
    waiting: dict[TopicPartition, deque[RawRecord]],
    open_: set[TopicPartition],
) -> None:
    """Fetch for those that have nothing at hand; those that have come to their end leave `open_`."""
    empty = [place for place in open_ if not waiting[place]]
    for place in empty:
        if await consumer.position(place) >= ends[place]:
            open_.discard(place)
    wanted = [place for place in empty if place in open_]
    if not wanted:
        return
    fetched = await consumer.getmany(*wanted, timeout_ms=_POLL_MS, max_records=_BATCH)
    for place, records in fetched.items():
        waiting[place].extend(record for record in records if record.offset < ends[place])


def _oldest(waiting: dict[TopicPartition, deque[RawRecord]], open_: set[TopicPartition]) -> list[Placed]:
    """Take the oldest records, until one of the open partitions has none at hand."""
    chosen: list[Placed] = []
    heads = [(records[0].timestamp, place) for place, records in waiting.items() if records]
    heads.sort()
    while heads and all(waiting[place] for place in open_):
        _, place = heads.pop(0)
        until = heads[0][0] if heads else None
        records = waiting[place]
        while records and (until is None or records[0].timestamp <= until):
            chosen.append((place, records.popleft()))
        if records:
            insort(heads, (records[0].timestamp, place))
        elif place in open_:
            break
    return chosen
