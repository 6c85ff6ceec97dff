"""What a committed offset's metadata says (pure).

A concurrent processor commits the position up to which records were handed out and, in the metadata, the offsets
below it that were not finished: `u:` and the base64 of delta-coded LEB128 numbers. A stateful processor's anchor
commits where its changelog must be read from: `r:` and the offset. The broker allows 4,096 characters.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass

MAX_METADATA = 4096
MAX_IN_FLIGHT = 800
"""With gaps below 2**21 between them, so many offsets always fit."""


class PositionError(Exception):
    """The metadata of a committed offset is not ours."""


@dataclass(frozen=True)
class Position:
    """`offset`: the first record never handed out; `unfinished`: handed out below it and to be handed out again."""

    offset: int
    unfinished: tuple[int, ...] = ()
    restore_point: int | None = None

    @property
    def lowest(self) -> int:
        """Where reading starts again, and what must not be purged."""
        return self.unfinished[0] if self.unfinished else self.offset

    def skips(self, offset: int) -> bool:
        """Whether the record at `offset` was finished before."""
        return offset < self.offset and offset not in self.unfinished


def format_unfinished(position: int, unfinished: Iterable[int]) -> str:
    """Encode ascending offsets below `position` as metadata; empty when there are none.

    Raises:
        PositionError: it would be longer than the broker allows.
    """
    data = bytearray()
    upper = position
    for offset in sorted(unfinished, reverse=True):
        _append_number(data, upper - offset)
        upper = offset
    if not data:
        return ""
    metadata = "u:" + base64.b64encode(bytes(data)).decode()
    if len(metadata) > MAX_METADATA:
        raise PositionError(
            f"{len(metadata)} characters of unfinished offsets; the broker allows {MAX_METADATA}"
        )
    return metadata


def format_restore_point(offset: int) -> str:
    return f"r:{offset}"


def parse_position(offset: int, metadata: str) -> Position:
    """Read a committed offset and its metadata.

    Raises:
        PositionError: the metadata is not of this module's form.
    """
    kind, _, text = metadata.partition(":")
    try:
        if not metadata:
            return Position(offset)
        if kind == "r":
            return Position(offset, restore_point=int(text))
        if kind == "u":
            return Position(offset, tuple(sorted(_offsets(offset, base64.b64decode(text, validate=True)))))
    except (ValueError, IndexError, binascii.Error) as error:
        raise PositionError(f"offset {offset}: metadata {metadata[:40]!r} can't be read: {error}") from error
    raise PositionError(f"offset {offset}: metadata {metadata[:40]!r} is of no known kind")


def _append_number(data: bytearray, number: int) -> None:
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)


def _offsets(position: int, data: bytes) -> Iterable[int]:
    index = 0
    while index < len(data):
        number = shift = 0
        while data[index] & 0x80:
            number |= (data[index] & 0x7F) << shift
            shift += 7
            index += 1
        number |= data[index] << shift
        index += 1
        position -= number
        yield position
