"""The `control` topic: read from the start before a worker begins, followed by FastStream while it works."""

from collections.abc import Callable, Mapping
from typing import Any

from aiokafka.structs import TopicPartition
from faststream.kafka import KafkaBroker, KafkaMessage
from faststream.security import BaseSecurity, SASLOAuthBearer, SASLPlaintext, SASLScram256, SASLScram512

from odradek_runtime.brokers import Brokers
from odradek_runtime.intake import Intake
from odradek_runtime.log_reader import log_bounds, read_log
from odradek_runtime.logs import get_logger
from odradek_runtime.names import Names
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event
from odradek_schemas.topics import CONTROL

log = get_logger(__name__)


async def read_control(brokers: Brokers, names: Names, intake: Intake, take: Callable[[Event], None]) -> None:
    """Give `take` every event that `control` holds now."""
    partition = TopicPartition(names.topic(CONTROL.name), 0)
    start, end = (await log_bounds(brokers, [partition]))[partition]
    async for records in read_log(brokers, partition, start, end):
        for raw in records:
            await _take(raw, intake, take)


def follow_control(
    brokers: Brokers, names: Names, worker: str, intake: Intake, take: Callable[[Event], None]
) -> KafkaBroker:
    """A FastStream broker whose one subscriber gives `take` each event of `control`, from the start.

    Events are states by key, so that seeing one twice changes nothing. It is in no group: every worker reads all.
    """
    broker = _faststream(brokers, client_id=f"{worker}-control", allow_auto_create_topics=False, logger=None)

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


def _faststream(brokers: Brokers, **options: Any) -> KafkaBroker:
    """A FastStream broker; it has words of its own for the login."""
    client = brokers.client()
    tokens = client.get("sasl_oauth_token_provider")
    if tokens is not None:
        options["sasl_oauth_token_provider"] = tokens
    return KafkaBroker(brokers.bootstrap.split(","), security=_login(client), **options)


def _login(client: Mapping[str, Any]) -> BaseSecurity:
    tls: dict[str, Any] = {"ssl_context": client.get("ssl_context"), "use_ssl": "ssl_context" in client}
    match client.get("sasl_mechanism"):
        case None:
            return BaseSecurity(**tls)
        case "OAUTHBEARER":
            return SASLOAuthBearer(**tls)
        case mechanism:
            kind = {"PLAIN": SASLPlaintext, "SCRAM-SHA-256": SASLScram256, "SCRAM-SHA-512": SASLScram512}
            return kind[mechanism](client["sasl_plain_username"], client["sasl_plain_password"], **tls)


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
