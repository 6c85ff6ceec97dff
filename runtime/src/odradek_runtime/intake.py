"""From a consumer's record to an event, or to the reason why there is none."""

import asyncio
import base64
from typing import Any

from odradek_runtime.blobs import BlobDamaged, BlobNotFound, BlobStore
from odradek_runtime.errors import CommitFailedError
from odradek_runtime.records import Output, RawRecord, Record
from odradek_schemas.codec import BlobCorrupt, BlobMissing, Envelope, RecordError, decode, read_envelope
from odradek_schemas.events import Event, RecordCoordinates, RecordRejected
from odradek_schemas.topics import BY_NAME, DEAD_LETTERS

BLOB_SECONDS = 30.0
"""Deadline of reading one large value."""

UNREADABLE = Envelope(
    type="", id="", run_id=None, rollout_id=None, scoring=None, dataref=None, traceparent=None
)
"""The envelope of a record whose headers are not an Odradek event's."""

SOMEWHERE = RecordCoordinates(topic="", partition=0, offset=0)
"""Stands for a record's place until an error must name it: hardly any record needs it."""


class Intake:
    """Reads records of a worker's input topics."""

    def __init__(self, worker: str, blobs: BlobStore) -> None:
        self._worker = worker
        self._blobs = blobs

    def open(self, topic: str, raw: RawRecord) -> tuple[Record, RecordError | None]:
        """Read the headers of a record of logical topic `topic`; the error says what is wrong with them."""
        envelope, problem = UNREADABLE, None
        try:
            envelope = read_envelope(raw.headers, SOMEWHERE)
        except RecordError as error:
            problem = error
        record = Record(topic, raw.partition, raw.offset, raw.key, raw.value or b"", raw.headers, envelope)
        return record, type(problem)(record.coordinates, problem.reason) if problem else None

    async def read(self, record: Record) -> Event:
        """Decode a record's event, from the blob store where its value lies there.

        Raises:
            RecordError: of the kind that fits.
            CommitFailedError: the blob store does not answer. The record is not to blame: it is read again.
        """
        value = record.value
        if record.envelope.dataref is not None:
            value = await self._fetch(record, record.envelope.dataref)
        return self.decode(record, value)

    def decode(self, record: Record, value: bytes) -> Event:
        try:
            event: Event = decode(BY_NAME[record.topic], record.envelope, value, SOMEWHERE)
        except RecordError as error:
            raise type(error)(record.coordinates, error.reason) from error
        return event

    def dead_letter(self, record: Record, error: RecordError) -> Output:
        """The record, whole, with where it was and why it can't be read."""
        event = RecordRejected(
            id=str(record.coordinates),
            run_id=record.envelope.run_id,
            rollout_id=record.envelope.rollout_id,
            record=record.coordinates,
            worker=self._worker,
            reason=error.reason,
            record_key=_base64(record.key),
            record_value=_base64(record.value),
            headers={name: value.decode(errors="replace") for name, value in record.headers},
        )
        return Output(DEAD_LETTERS.name, event)

    async def _fetch(self, record: Record, reference: str) -> bytes:
        try:
            async with asyncio.timeout(BLOB_SECONDS):
                return await self._blobs.get(reference)
        except TimeoutError as error:
            raise CommitFailedError(
                f"the blob store gave no answer within {BLOB_SECONDS:g} s: {reference}"
            ) from error
        except BlobNotFound as error:
            raise BlobMissing(record.coordinates, str(error)) from error
        except BlobDamaged as error:
            raise BlobCorrupt(record.coordinates, str(error)) from error
        except OSError as error:
            raise CommitFailedError(str(error)) from error


def _base64(data: Any) -> str | None:
    return base64.b64encode(data).decode() if data else None
