"""Records as a worker reads and writes them: topics by logical name, without the deployment's prefix."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aiokafka.structs import ConsumerRecord

from odradek_schemas.codec import Envelope
from odradek_schemas.events import Event, RecordCoordinates

RawRecord = ConsumerRecord[bytes | None, bytes | None]
"""A record as aiokafka gives it."""


class Record(NamedTuple):
    """A record that was read. `envelope` is what its headers tell."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: Sequence[tuple[str, bytes]]
    envelope: Envelope

    @property
    def coordinates(self) -> RecordCoordinates:
        return RecordCoordinates(topic=self.topic, partition=self.partition, offset=self.offset)


class Output(NamedTuple):
    """An event to write to `topic`. `partition` None: the partition that the input came from.

    `value`: the event's JSON, where that is known already.
    """

    topic: str
    event: Event
    partition: int | None = None
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The end of the thing that `key` names in a compacted topic, in the partition that the input came from."""

    topic: str
    key: str


Outputs = list[Output | Tombstone]
