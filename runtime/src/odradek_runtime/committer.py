"""One transaction a cycle: all outputs and the positions of the inputs, or nothing.

The second of the two seams behind which Kafka's mechanics hide (the other is `acquisition`). The producer belongs to
one partition number; its transactional id is what fences a zombie. The positions are a record of their own
(`progress`), not the group's offsets.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
)
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import TopicPartition

from odradek_runtime import tuning
from odradek_runtime.blobs import BlobStore
from odradek_runtime.errors import classify
from odradek_runtime.faults import reach
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.progress import Positions, positions_record
from odradek_runtime.records import Output, Tombstone
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.trace import traceparent
from odradek_schemas.codec import CLAIM_CHECK_BYTES, Encoded, encode, tombstone, with_reference
from odradek_schemas.topics import BY_NAME, Kept

STOP_SECONDS = 5.0
"""Deadline of taking leave of a broker that may not answer."""
CUT_OFF_SECONDS = 0.1
"""For what a producer has in flight to fail, when its connections are gone."""

UNANSWERED = (TimeoutError, KafkaTimeoutError, KafkaConnectionError, NodeNotReadyError, RequestTimedOutError)
"""The broker is away: there is nobody to abort the transaction. The next owner's fence does that."""

TURN_RECORDS = 64
"""Records encoded in one turn of the event loop."""


class Committer:
    """Commits the cycles of one partition number.

    Raises from `commit`: FencedError, CommitFailedError. After either the committer is of no more use.
    """

    def __init__(
        self,
        producer: AIOKafkaProducer,
        worker: str,
        partition: int,
        names: Names,
        blobs: BlobStore,
        settings: WorkerSettings,
        metrics: Metrics,
    ) -> None:
        self._producer = producer
        self._worker = worker
        self._partition = partition
        self._names = names
        self._blobs = blobs
        self._deadline = settings.cycle_timeout_seconds
        self._metrics = metrics
        self.commits = 0
        self.committed: Positions = {}

    @classmethod
    async def fence(
        cls,
        worker: str,
        partition: int,
        names: Names,
        blobs: BlobStore,
        settings: WorkerSettings,
        metrics: Metrics,
    ) -> "Committer":
        """Start the partition's producer. When this returns, every earlier owner's transactions have ended."""
        producer = AIOKafkaProducer(
            **settings.brokers.client(),
            client_id=f"{worker}-{partition}",
            transactional_id=names.transactional_id(worker, partition),
            transaction_timeout_ms=int(settings.transaction_timeout_seconds * 1000),
            max_batch_size=tuning.MAX_BATCH_BYTES,
            max_request_size=2 * tuning.MAX_BATCH_BYTES,
            retry_backoff_ms=tuning.PRODUCER_BACKOFF_MS,
        )
        try:
            await producer.start()
        except BaseException:
            await _discard(producer)
            raise
        return cls(producer, worker, partition, names, blobs, settings, metrics)

    async def commit(self, outputs: Sequence[Output | Tombstone], positions: Positions) -> dict[str, int]:
        """Write `outputs` and `positions`, those of all inputs, in one transaction.

        Returns, by logical topic, the offset after the last record written to this partition number.
        Large values are in the blob store before the transaction begins.
        """
        try:
            async with asyncio.timeout(self._deadline):
                batches = await self._batches(outputs, positions)
                reach("commit.before")
                ends = await self._transact(batches)
                self.committed = positions
                self._metrics.committed(outputs)
                return ends
        except Exception as error:  # noqa: BLE001 - classified and raised
            cause = _cause(self._producer, error)
            await (_cut_off(self._producer) if isinstance(cause, UNANSWERED) else self._abandon())
            self._metrics.errors.labels(type(cause).__name__).inc()
            meaning = classify(cause)
            raise meaning from (None if meaning is cause else cause)
        except asyncio.CancelledError:
            await self._abandon()
            raise

    async def close(self) -> None:
        await _discard(self._producer)

    async def _batches(
        self, outputs: Sequence[Output | Tombstone], positions: Positions
    ) -> list[tuple[TopicPartition, BatchBuilder]]:
        batches: list[tuple[TopicPartition, BatchBuilder]] = []
        open_batches: dict[TopicPartition, BatchBuilder] = {}
        for target, record in [*await self._encode(outputs), *self._progress(positions)]:
            batch = open_batches.get(target)
            if batch is None or not _append(batch, record):
                batch = open_batches[target] = self._producer.create_batch()
                if not _append(batch, record):
                    raise ValueError(
                        f"a record of {len(record.value or b'')} bytes does not fit an empty batch"
                    )
                batches.append((target, batch))
        return batches

    async def _encode(self, outputs: Sequence[Output | Tombstone]) -> list[tuple[TopicPartition, Encoded]]:
        """Records in the order of `outputs`; large values are stored together: of a cycle, not one after the other."""
        encoded: list[tuple[TopicPartition, Encoded]] = []
        large: dict[int, str] = {}
        for output in _newest(outputs):
            if len(encoded) % TURN_RECORDS == TURN_RECORDS - 1:
                await asyncio.sleep(0)
            target = TopicPartition(self._names.topic(output.topic), self._target(output))
            if isinstance(output, Tombstone):
                encoded.append((target, tombstone(output.key)))
                continue
            record = encode(output.event, self._worker, traceparent(output.event), output.value)
            if record.value is not None and len(record.value) > CLAIM_CHECK_BYTES:
                large[len(encoded)] = BY_NAME[output.topic].retention
            encoded.append((target, record))
        if large:
            await asyncio.gather(*(self._store(encoded, place, kept) for place, kept in large.items()))
        return encoded

    async def _store(self, encoded: list[tuple[TopicPartition, Encoded]], place: int, retention: str) -> None:
        """Put the value of `encoded[place]` into the blob store, and its reference into its place."""
        target, record = encoded[place]
        assert record.value is not None
        encoded[place] = (target, with_reference(record, await self._blobs.put(record.value, retention)))

    def _progress(self, positions: Positions) -> list[tuple[TopicPartition, Encoded]]:
        if positions == self.committed:
            return []
        target = TopicPartition(self._names.positions(self._worker), self._partition)
        return [(target, positions_record(self._worker, self._partition, positions))]

    def _target(self, output: Output | Tombstone) -> int:
        if BY_NAME[output.topic].single:
            return 0
        partition = None if isinstance(output, Tombstone) else output.partition
        return self._partition if partition is None else partition

    async def _transact(self, batches: list[tuple[TopicPartition, BatchBuilder]]) -> dict[str, int]:
        producer = self._producer
        await producer.begin_transaction()
        sends = []
        for target, batch in batches:
            sent = await producer.send_batch(batch, target.topic, partition=target.partition)
            sent.add_done_callback(_note)
            sends.append((target, batch.record_count(), sent))
        # aiokafka commits past a batch that failed: every send is awaited first.
        written = [(target, count, await sent) for target, count, sent in sends]
        reach("commit.open")
        await producer.commit_transaction()
        reach("commit.done")
        self.commits += 1
        self._metrics.records_out.inc(sum(count for _target, count, _written in written))
        return {
            self._names.logical(target.topic): metadata.offset + count
            for target, count, metadata in written
            if target.partition == self._partition
        }

    async def _abandon(self) -> None:
        """Abort what can be aborted, so that readers need not wait for the transaction's timeout."""
        with contextlib.suppress(Exception):  # the producer is discarded whatever the broker says
            async with asyncio.timeout(STOP_SECONDS):
                if self._producer._txn_manager.is_in_transaction():
                    await self._producer.abort_transaction()
        await _discard(self._producer)


def _cause(producer: AIOKafkaProducer, error: Exception) -> Exception:
    """What ended aiokafka's sender, if it has: calls that come later complain of the producer's state alone."""
    sender = producer._sender.sender_task
    ended = sender.exception() if sender is not None and sender.done() and not sender.cancelled() else None
    return ended if isinstance(ended, Exception) else error


def _note(sent: "asyncio.Future[object]") -> None:
    """When one send fails the others are not awaited, and asyncio would complain of theirs."""
    if not sent.cancelled():
        sent.exception()


async def _discard(producer: AIOKafkaProducer) -> None:
    """Stop a producer; one that does not stop in time loses its connections."""
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await producer.stop()
    except Exception:  # noqa: BLE001 - a producer in any state must be left behind
        await producer.client.close()


async def _cut_off(producer: AIOKafkaProducer) -> None:
    """End a producer without a word to the broker. What it has in flight fails with its connections."""
    sender = producer._sender.sender_task
    producer._closed = True
    if sender is not None:
        sender.cancel()
    await producer.client.close()
    if sender is not None:
        await asyncio.wait({sender}, timeout=CUT_OFF_SECONDS)
        sender.cancel()  # it may be looking for a coordinator, which it does until there is one


def _append(batch: BatchBuilder, record: Encoded) -> bool:
    return (
        batch.append(timestamp=None, key=record.key, value=record.value, headers=list(record.headers))
        is not None
    )


def _newest(outputs: Sequence[Output | Tombstone]) -> Sequence[Output | Tombstone]:
    """Of several states of one thing in a compacted topic only the newest is written."""
    compacted = [o for o in outputs if BY_NAME[o.topic].kept is Kept.COMPACTED]
    if len(compacted) < 2:
        return outputs
    newest = {(o.topic, o.key if isinstance(o, Tombstone) else o.event.key): o for o in compacted}
    keep = set(map(id, newest.values()))
    return [o for o in outputs if BY_NAME[o.topic].kept is not Kept.COMPACTED or id(o) in keep]
