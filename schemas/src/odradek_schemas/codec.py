"""Events on the wire: a JSON value, CloudEvents 1.0 attributes and a W3C trace context in the headers.

Source: CloudEvents Kafka protocol binding 1.0.2 (binary content mode), the `dataref` extension (claim check), and
W3C Trace Context. Readers filter by header (`Envelope`) before they decode a value.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic import ValidationError

from odradek_schemas.events import Event, RewardAssigned
from odradek_schemas.events.letters import RecordCoordinates
from odradek_schemas.topics import Topic

CLAIM_CHECK_BYTES = 256 * 1024
"""Values longer than this go to the blob store, and the record carries a reference."""

Headers = tuple[tuple[str, bytes], ...]

_REQUIRED = ("ce_type", "ce_id")
_ATTRIBUTES = (*_REQUIRED, "ce_runid", "ce_rolloutid", "ce_scoring", "ce_dataref", "traceparent")
"""In the order of `Envelope`'s fields."""

_CONSTANT: Headers = (("ce_specversion", b"1.0"), ("content-type", b"application/json"))


class RecordError(Exception):
    """A record can't be read. Names topic, partition, offset and the reason."""

    def __init__(self, record: RecordCoordinates, reason: str) -> None:
        super().__init__(f"{record}: {reason}")
        self.record = record
        self.reason = reason


class MissingHeader(RecordError):
    """A header that every event carries is not there, or is not text."""


class UnknownType(RecordError):
    """The record's type is not one that its topic carries."""


class InvalidValue(RecordError):
    """The value is not JSON, is cut short, or does not fit the type's model."""


class BlobMissing(RecordError):
    """The value lies in the blob store, and the blob is not there."""


class BlobCorrupt(RecordError):
    """The value lies in the blob store, and the blob is not what the reference says."""


class Encoded(NamedTuple):
    """A record ready to be sent."""

    key: bytes
    value: bytes | None
    headers: Headers


class Envelope(NamedTuple):
    """What the headers tell of an event. `dataref` is set when the value lies in the blob store."""

    type: str
    id: str
    run_id: str | None
    rollout_id: str | None
    scoring: str | None
    dataref: str | None
    traceparent: str | None


def encode(event: Event, source: str, traceparent: str | None = None, value: bytes | None = None) -> Encoded:
    """Encode `event` as written by `source` (the service's name). `value`: its JSON, where that is known already."""
    headers = [
        *_CONSTANT,
        ("ce_type", event.type.encode()),
        ("ce_id", event.id.encode()),
        ("ce_source", source.encode()),
        ("ce_time", event.time.isoformat().encode()),
    ]
    run_id, rollout_id = event.run_id, event.rollout_id
    if run_id is not None:
        headers.append(("ce_runid", run_id.encode()))
    if rollout_id is not None:
        headers.append(("ce_rolloutid", rollout_id.encode()))
    if traceparent is not None:
        headers.append(("traceparent", traceparent.encode()))
    if type(event) is RewardAssigned:
        headers.append(("ce_scoring", event.scoring.encode()))
    if value is None:
        value = event.__pydantic_serializer__.to_json(event, exclude_none=True)
    return Encoded(event.key.encode(), value, tuple(headers))


def spliced(event: Event, field: str, json: bytes) -> bytes:
    """The JSON of `event` with `json` as its `field`: for a part that came as JSON and goes out as it came."""
    rest = event.__pydantic_serializer__.to_json(event, exclude={field}, exclude_none=True)
    return b'%b,"%b":%b}' % (rest[:-1], field.encode(), json)


def tombstone(key: str) -> Encoded:
    """The end of the thing that `key` names, in a compacted topic."""
    return Encoded(key.encode(), None, ())


def with_reference(encoded: Encoded, dataref: str) -> Encoded:
    """The same record with its value replaced by a reference into the blob store."""
    return Encoded(encoded.key, b"", (*encoded.headers, ("ce_dataref", dataref.encode())))


def read_envelope(headers: Iterable[tuple[str, bytes]], record: RecordCoordinates) -> Envelope:
    """Read the attributes from a record's headers.

    Raises:
        MissingHeader: `ce_type` or `ce_id` is missing, or an attribute is not UTF-8.
    """
    found = dict(headers)
    for name in _REQUIRED:
        if not found.get(name):
            raise MissingHeader(
                record, f"header {name!r} is missing: not an Odradek event (CloudEvents binary mode)"
            )
    try:
        return Envelope(*[found[name].decode() if name in found else None for name in _ATTRIBUTES])  # type: ignore[arg-type]
    except UnicodeDecodeError as error:
        raise MissingHeader(record, f"a header is not UTF-8 text: {error}") from error


def decode(topic: Topic, envelope: Envelope, value: bytes, record: RecordCoordinates) -> Any:
    """Read an event of `topic` from its JSON value. Fields that this version does not know are ignored.

    Raises:
        UnknownType: the type is not one of the topic's.
        InvalidValue: the value does not fit; the reason names each field.
    """
    if envelope.type not in topic.types:
        known = ", ".join(sorted(topic.types))
        raise UnknownType(record, f"type {envelope.type!r} does not belong here; this topic carries {known}")
    try:
        event = topic.adapter.validate_json(value, extra="ignore")
    except ValidationError as error:
        raise InvalidValue(record, f"{envelope.type}: {explain(error)}") from error
    if event.type != envelope.type:
        raise InvalidValue(record, f"header says {envelope.type}, value says {event.type}")
    return event


def explain(error: ValidationError, most: int = 5) -> str:
    """A validation error in one line: `field: what is wrong; ...`."""
    problems = error.errors(include_url=False, include_input=False)
    lines = [f"{'.'.join(map(str, p['loc'])) or 'value'}: {p['msg']}" for p in problems[:most]]
    if len(problems) > most:
        lines.append(f"and {len(problems) - most} more")
    return "; ".join(lines)
