"""Writing files of rollouts, one after the other: what is in memory does not grow with their number."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from pydantic_core import to_json

from odradek.formats import atif, nemo_gym, own, sft
from odradek.formats.lines import line_writer
from odradek.formats.parquet import FileWriter, FolderWriter
from odradek.formats.records import Format, Record
from odradek_schemas.events.results import PRIMARY_SCORING

_Lines = Callable[[Record], Iterable[bytes]]


class Writer(Protocol):
    """Takes records."""

    def add(self, record: Record) -> int:
        """Write a record; returns how many rows it made."""


@contextmanager
def open_writer(path: Path, format: Format, scoring: str = PRIMARY_SCORING) -> Iterator[Writer]:
    """A writer of `format`, with the rewards of `scoring`.

    What is written lies beside `path` until all is there: an interrupted export leaves no half file under its name.

    Raises:
        FileExistsError: `path` is there already.
        OSError: it can't be written.
        PyarrowMissing: the format is Parquet's, and pyarrow is not installed.
    """
    if path.exists():
        raise FileExistsError(f"{path} is there already")
    part = path.with_name(f"{path.name}.part")
    _remove(part)
    try:
        with _writer(part, path.stem, format, scoring) as writer:
            yield writer
        os.replace(part, path)
    finally:
        _remove(part)


@contextmanager
def _writer(part: Path, name: str, format: Format, scoring: str) -> Iterator[Writer]:
    if format in (Format.PARQUET, Format.HF):
        columns: FileWriter | FolderWriter
        columns = FileWriter(part, scoring) if format is Format.PARQUET else FolderWriter(part, name, scoring)
        try:
            yield columns
        finally:
            columns.close()
        return
    with line_writer(part) as file:
        yield _LineWriter(file, _lines(format, scoring))


class _LineWriter:
    def __init__(self, file: BinaryIO, lines: _Lines) -> None:
        self._file = file
        self._lines = lines

    def add(self, record: Record) -> int:
        rows = 0
        for line in self._lines(record):
            self._file.write(line + b"\n")
            rows += 1
        return rows


def _lines(format: Format, scoring: str) -> _Lines:
    """How records become lines."""
    match format:
        case Format.NEMO_GYM:
            return lambda record: [to_json(nemo_gym.write(record, scoring))]
        case Format.ATIF:
            return lambda record: [to_json(atif.write(record, scoring))]
        case Format.SFT:
            return lambda record: [to_json(example) for example in sft.write(record, scoring)]
        case _:
            return lambda record: [own.write(record)]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
