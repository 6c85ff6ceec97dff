"""Writing imported rollouts into the log: in transactions of some hundreds, each rollout once however often it is tried.

A transactional id of the run's own fences an earlier attempt (KIP-98); what that one committed is then seen, and left
alone. The verifier-workers score what is there as they score all else.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from odradek.formats import Record
from odradek_cli.errors import CliError, Exit
from odradek_cli.importing import finished, recorded
from odradek_cli.kafka import CONNECT_SECONDS, Log
from odradek_runtime import tuning
from odradek_runtime.blobs import BlobStore, open_blob_store
from odradek_runtime.leaving import stopped
from odradek_schemas.codec import CLAIM_CHECK_BYTES, Envelope, encode, with_reference
from odradek_schemas.events import Event, RecordCoordinates, RunImported, RunRequested
from odradek_schemas.topics import REWARDS, RUNS, TRAJECTORIES, Topic

PIECE = 200
"""Rollouts of one transaction."""
PIECE_SECONDS = 60.0
_SOURCE = "import"


@dataclass(frozen=True)
class Adopted:
    """What an import came to: rollouts written now, and those that were there before."""

    written: int
    present: int


Furnish = Callable[[Record], Awaitable[Record]]


async def adopt(log: Log, run: RunImported, records: Iterable[Record], furnish: Furnish) -> Adopted:
    """Write a run's rollouts, each as `furnish` returns it, but for those that are there.

    Raises:
        CliError: the id is that of another run, or Kafka does not take the rollouts in time.
    """
    async with _producer(log, run.run_id) as producer:
        begun = await _begun(log, run)
        present = await _present(log, run) if begun else set()
        writer = _Writer(log, producer, open_blob_store(log.deployment.blob_store))
        missing = (record for record in records if record.trajectory.rollout_id not in present)
        written = 0
        announced: list[Event] = [] if begun else [run]
        for piece in _pieces(missing):
            written += await writer.write([await furnish(record) for record in piece], announced)
            announced = []
        return Adopted(written, len(present))


async def _begun(log: Log, run: RunImported) -> bool:
    """Whether this import was begun before. Raises CliError: the id is another run's."""

    def of_run(envelope: Envelope) -> bool:
        return envelope.run_id == run.run_id

    told = await log.scan(RUNS, of_run, partition=log.home(run.run_id))
    for event in (found.event for found in told):
        same = isinstance(event, RunImported) and _origin(event) == _origin(run)
        if isinstance(event, RunRequested | RunImported) and not same:
            what = (
                "was played here" if isinstance(event, RunRequested) else f"was made of {event.dataset.name}"
            )
            raise CliError(
                f"there is a run {run.run_id!r} already: it {what}",
                Exit.INVALID_INPUT,
                "give another --run-id",
            )
    return any(isinstance(found.event, RunImported) for found in told)


def _origin(run: RunImported) -> tuple[str, str, int]:
    """What must be the same for two imports to be one."""
    return run.digest, run.environment, run.rollouts


async def _present(log: Log, run: RunImported) -> set[str]:
    """The rollouts of the run that are in the log."""

    def of_run(envelope: Envelope) -> bool:
        return envelope.run_id == run.run_id

    heads = log.heads(TRAJECTORIES, range(log.partitions), of_run)
    return {envelope.rollout_id async for envelope in heads if envelope.rollout_id is not None}


class _Writer:
    """Writes pieces, each in one transaction."""

    def __init__(self, log: Log, producer: AIOKafkaProducer, blobs: BlobStore) -> None:
        self._log = log
        self._producer = producer
        self._blobs = blobs

    async def write(self, piece: list[Record], announced: Iterable[Event]) -> int:
        """Write `announced` and a piece; returns how many rollouts it had."""
        try:
            async with asyncio.timeout(PIECE_SECONDS), self._producer.transaction():
                for event in announced:
                    await self._send(RUNS, event)
                now = datetime.now(UTC)
                sent = [await self._send(TRAJECTORIES, finished(record.trajectory, now)) for record in piece]
                for record, future in zip(piece, sent, strict=True):
                    at: RecordMetadata = await future
                    place = RecordCoordinates(
                        topic=TRAJECTORIES.name, partition=at.partition, offset=at.offset
                    )
                    if (reward := recorded(record, place, now)) is not None:
                        await self._send(REWARDS, reward)
        except TimeoutError as error:
            raise CliError(
                f"Kafka did not take {len(piece)} rollouts within {PIECE_SECONDS:g} s",
                Exit.NO_STACK,
                "import the same file again with the same --run-id: what is written already stays as it is",
            ) from error
        return len(piece)

    async def _send(self, topic: Topic, event: Event) -> asyncio.Future[RecordMetadata]:
        record = encode(event, _SOURCE)
        if record.value is not None and len(record.value) > CLAIM_CHECK_BYTES:
            record = with_reference(record, await self._blobs.put(record.value, topic.retention))
        sent: asyncio.Future[RecordMetadata] = await self._producer.send(
            self._log.deployment.names.topic(topic.name),
            record.value,
            key=record.key,
            partition=self._log.place(topic, event),
            headers=list(record.headers),
        )
        return sent


@asynccontextmanager
async def _producer(log: Log, run_id: str) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(
        **log.deployment.brokers.client(),
        transactional_id=f"{log.deployment.prefix}{_SOURCE}-{run_id}",
        transaction_timeout_ms=int(PIECE_SECONDS * 1000),
        max_batch_size=tuning.MAX_BATCH_BYTES,
        max_request_size=2 * tuning.MAX_BATCH_BYTES,
    )
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await producer.start()
        yield producer
    except TimeoutError as error:
        raise CliError(
            f"Kafka at {log.deployment.brokers} did not answer in time",
            Exit.NO_STACK,
            "see `odradek status`",
        ) from error
    finally:
        await stopped(producer)


def _pieces(records: Iterable[Record]) -> Iterator[list[Record]]:
    remaining = iter(records)
    while piece := list(islice(remaining, PIECE)):
        yield piece
