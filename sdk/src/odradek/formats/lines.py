"""Files of one JSON object a line, plain or compressed with Zstandard (RFC 8878), read and written as a stream."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard
from pydantic_core import from_json

from odradek.formats.records import BadRecord
from odradek_schemas.base import JsonObject

_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 6


def read_lines(path: Path) -> Iterator[tuple[int, JsonObject | BadRecord]]:
    """Number, from 1, and object of each line that is not blank; an error in its place where it is none.

    Whether the file is compressed is seen in its first bytes.

    Raises:
        OSError: the file can't be read.
        BadRecord: the compressed stream is damaged; names the last line that could be read.
    """
    number = 0
    with path.open("rb") as file, _plain(file) as plain:
        try:
            for number, line in enumerate(plain, 1):
                if line.strip():
                    yield number, _parsed(number, line)
        except zstandard.ZstdError as error:
            raise BadRecord(number, "", f"the file is damaged behind this line: {error}") from error


@contextmanager
def line_writer(path: Path) -> Iterator[BinaryIO]:
    """A file to write lines to, compressed where its name ends in `.zst`."""
    with path.open("wb") as file:
        if path.name.removesuffix(".part").endswith(".zst"):
            with zstandard.ZstdCompressor(level=_LEVEL).stream_writer(file, closefd=False) as packed:
                yield packed
        else:
            yield file


@contextmanager
def _plain(file: BinaryIO) -> Iterator[BinaryIO]:
    magic = file.read(len(_MAGIC))
    file.seek(0)
    if magic != _MAGIC:
        yield file
        return
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    with io.BufferedReader(reader, 1 << 20) as plain:
        yield plain


def _parsed(number: int, line: bytes) -> JsonObject | BadRecord:
    try:
        value = from_json(line)
    except ValueError as error:
        return BadRecord(number, "", f"is not JSON: {error}")
    if not isinstance(value, dict):
        return BadRecord(number, "", f"must be a JSON object, is {type(value).__name__}")
    return value
