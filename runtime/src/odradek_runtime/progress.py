"""How far a partition number has read its inputs: a record in each cycle's transaction, read back at its acquisition.

The group's committed offsets would be the usual place. But they are answered from the memory of the group's
coordinator, and a broker that comes back under load after a crash has been seen to answer with old ones, or with
none, while it was still reading its log (Kafka 4.2.1): a reader that believes it does everything again. It also
forgets the offsets of groups that were empty for a week. The partition's own log, read behind the fence, can't be
behind. Two of the five requests of a transaction are saved as well.
"""

from collections.abc import Mapping

from aiokafka.structs import TopicPartition
from pydantic import ValidationError

from odradek_runtime.brokers import Brokers
from odradek_runtime.log_reader import read_log
from odradek_runtime.logs import get_logger
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import Encoded, encode, explain
from odradek_schemas.events import InputPosition, PositionsCommitted

Positions = Mapping[str, tuple[int, str]]
"""By logical topic: the offset and its metadata (`positions`)."""

LOOK_BACK = 64
"""Offsets before the end that are read first. The newest record lies there unless transactions were aborted in a
row: then eight times as many, and so on."""

log = get_logger(__name__)


def positions_record(worker: str, partition: int, positions: Positions) -> Encoded:
    """The record of `positions`."""
    event = PositionsCommitted(
        id=f"{worker}/{partition}/" + "-".join(str(offset) for offset, _metadata in positions.values()),
        worker=worker,
        partition=partition,
        positions={
            topic: InputPosition(offset=offset, metadata=metadata)
            for topic, (offset, metadata) in positions.items()
        },
    )
    return encode(event, worker)


async def read_positions(brokers: Brokers, partition: TopicPartition, start: int, end: int) -> Positions:
    """The newest committed positions in `[start, end)` of a partition of a worker's positions; empty: there are none.

    Raises:
        KafkaError: the broker does not answer well.
    """
    back = LOOK_BACK
    while True:
        begin = max(start, end - back)
        newest: Positions = {}
        async for records in read_log(brokers, partition, begin, end):
            for record in records:
                newest = _positions(record) or newest
        if newest or begin == start:
            return newest
        back *= 8


def _positions(record: RawRecord) -> Positions:
    """What a record says; empty, with a warning, for one that was not written by a worker."""
    try:
        event = PositionsCommitted.model_validate_json(record.value or b"", extra="ignore")
    except ValidationError as error:
        place = f"{record.topic}[{record.partition}]@{record.offset}"
        log.warning("not a record of positions, passed over", record=place, reason=explain(error))
        return {}
    return {topic: (position.offset, position.metadata) for topic, position in event.positions.items()}
