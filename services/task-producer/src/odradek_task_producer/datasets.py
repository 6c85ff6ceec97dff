"""Data sets: fetched into an anonymous local file, indexed by line, checked row by row."""

import asyncio
import os
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import unquote, urlsplit

from odradek.environment import Environment
from odradek.rows import RowError
from odradek_runtime.blobs import BlobStore, reference_of
from odradek_schemas.events import BadRow
from odradek_task_producer.rows import read_row

MOST_REASON_CHARACTERS = 500


class DatasetError(Exception):
    """The data set can't be had; the message says why and what to do."""


class Stopped(Exception):
    """Nobody waits for the data set any more."""


@dataclass
class Checked:
    """What a check found. `bad_rows` holds the first of them, `bad` counts all."""

    rows: int = 0
    bad: int = 0
    bad_rows: list[BadRow] = field(default_factory=list)


class Dataset:
    """Lines of a file that has no name: it is gone with the process, whatever ends it.

    Holds 16 bytes a task: where its line begins, and the line's number. Blank lines are no tasks. The file is
    closed when nobody, in whatever thread, holds the data set any more.
    """

    def __init__(self, file: BinaryIO, limit: int | None) -> None:
        self._file = file
        weakref.finalize(self, file.close)
        self._starts = array("Q")
        self._numbers = array("Q")
        self._end = 0
        self._index(limit)

    def __len__(self) -> int:
        return len(self._starts)

    def line(self, task: int) -> bytes:
        """The line of task `task`; may hold blank lines behind it. Callable from any thread."""
        start = self._starts[task]
        end = self._starts[task + 1] if task + 1 < len(self._starts) else self._end
        return os.pread(self._file.fileno(), end - start, start)

    def number(self, task: int) -> int:
        """The number of the line of task `task` in the file, from 1."""
        return self._numbers[task]

    def _index(self, limit: int | None) -> None:
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if line.strip():
                if len(self._starts) == limit:
                    return
                self._starts.append(self._end)
                self._numbers.append(number)
            self._end += len(line)


async def fetch(uri: str, blobs: BlobStore) -> BinaryIO:
    """Copy a data set (`blob:<reference>` or `file:///path`) into an anonymous local file.

    Raises:
        DatasetError: the URI is neither, or the file can't be read.
        BlobError: the blob can't be had.
    """
    reference = reference_of(uri)
    if reference is not None:
        return await asyncio.to_thread(_spool_bytes, await blobs.get(reference))
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return await asyncio.to_thread(_spool_file, Path(unquote(parts.path)))
    raise DatasetError(f"data set {uri!r}: expected blob:<reference> or file:///absolute/path")


def check(
    dataset: Dataset, environment: Environment, most_bad: int, stopped: Callable[[], bool] = lambda: False
) -> Checked:
    """Let the environment split every row.

    Raises:
        Stopped: `stopped` said so.
    """
    found = Checked()
    for task in range(len(dataset)):
        if stopped():
            raise Stopped
        found.rows += 1
        problem = _problem(environment, dataset.line(task), dataset.number(task))
        if problem is not None:
            found.bad += 1
            if found.bad <= most_bad:
                found.bad_rows.append(problem)
    return found


def _problem(environment: Environment, line: bytes, number: int) -> BadRow | None:
    try:
        read_row(environment, line)
    except RowError as error:
        return BadRow(line=number, field=error.field, reason=error.reason[:MOST_REASON_CHARACTERS])
    except Exception as error:  # noqa: BLE001 - the environment's own code: its failure is the row's report
        reason = f"{environment.name}.split failed: {error!r}"
        return BadRow(line=number, field="", reason=reason[:MOST_REASON_CHARACTERS])
    return None


def _nameless_file() -> BinaryIO:
    return cast(BinaryIO, tempfile.TemporaryFile())


def _spool_bytes(content: bytes) -> BinaryIO:
    file = _nameless_file()
    file.write(content)
    return file


def _spool_file(path: Path) -> BinaryIO:
    try:
        with path.open("rb") as source:
            file = _nameless_file()
            shutil.copyfileobj(source, file, 1 << 20)
            return file
    except OSError as error:
        raise DatasetError(
            f"data set {path}: {error.strerror}; the task-producer must be able to read it (or upload it to the "
            "blob store, as `odradek run --input` does)"
        ) from error
