"""The `control` topic: read from the start before a worker begins, followed by FastStream while it works."""

from collections.abc import Callable

from aiokafka.structs import TopicPartition
from faststream.kafka import KafkaBroker, KafkaMessage

from odradek_runtime.intake import Intake
from odradek_runtime.log_reader import log_bounds, read_log
from odradek_runtime.logs import get_logger
from odradek_runtime.names import Names
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event
from odradek_schemas.topics import CONTROL

log = get_logger(__name__)


async def read_control(bootstrap: str, names: Names, intake: Intake, take: Callable[[Event], None]) -> None:
    """Give `take` every event that `control` holds now."""
    partition = TopicPartition(names.topic(CONTROL.name), 0)
    start, end = (await log_bounds(bootstrap, [partition]))[partition]
    async for records in read_log(bootstrap, partition, start, end):
        for raw in records:
            await _take(raw, intake, take)


def follow_control(
    bootstrap: str, names: Names, worker: str, intake: Intake, take: Callable[[Event], None]
) -> KafkaBroker:
    """A FastStream broker whose one subscriber gives `take` each event of `control`, from the start.

    Events are states by key, so that seeing one twice changes nothing. It is in no group: every worker reads all.
    """
    broker = KafkaBroker(
        bootstrap, client_id=f"{worker}-control", allow_auto_create_topics=False, logger=None
    )

    @broker.subscriber(
        names.topic(CONTROL.name),
        group_id=None,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        decoder=_raw,
        title="control",
    )
    async def on_control(record: RawRecord) -> None:
        await _take(record, intake, take)

    return broker


async def _raw(message: KafkaMessage) -> RawRecord:
    """Leave the record as it is: events are decoded by the codec."""
    raw = message.raw_message
    assert not isinstance(raw, tuple)
    return raw


async def _take(raw: RawRecord, intake: Intake, take: Callable[[Event], None]) -> None:
    if raw.value is None:
        return
    record, error = intake.open(CONTROL.name, raw)
    try:
        if error is not None:
            raise error
        take(await intake.read(record))
    except RecordError as problem:
        # One bad record must not stop every worker; whoever wrote it finds it here.
        log.error("control record can't be read", record=str(record.coordinates), reason=problem.reason)
