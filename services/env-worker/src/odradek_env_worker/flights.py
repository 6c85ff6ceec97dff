"""What was at work when this worker died, so that an action which ends its worker is not begun for ever.

Tools run in the worker's own process, and some end it: a crash in native code, `os._exit`, memory that runs out. The
log can't tell which action it was, for nothing was committed. So each action is noted in a file when it begins and
when it ends: in pages shared with the kernel, which survive the process. One that was at work at two deaths runs
with no other beside it that was at work at any; at three, it did it.

The file is a hint and not the truth: without it, an action that ends its worker is begun again until its time is up.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from fcntl import LOCK_EX, LOCK_NB, flock
from io import FileIO
from mmap import mmap
from pathlib import Path
from zlib import crc32

import structlog

from odradek_schemas.events import SessionCloseRequested, SessionRequested, ToolCallRequested

ALONE_AFTER = 2
"""Deaths after which an action waits until no other suspect is at work: none with a death to its name."""
MOST_DEATHS = 3
"""Deaths after which it is not begun again."""
MOST_SUSPECTS = 4096
FILE_BYTES = 2 << 20
"""The file's size, from the start: a page that the disk could not hold would end the process when it is written."""

log = structlog.get_logger()


class Flights:
    """The actions at work in this process; `path` None: nothing is noted, and nobody is suspected."""

    def __init__(self, path: Path | None) -> None:
        self._deaths: dict[str, int] = {}
        self._at_work: set[str] = set()
        self._suspects = Suspects()
        self._file = None if path is None else _open_alone(path)
        self._pages = None if self._file is None else _pages(self._file)
        self._written = 0
        if self._file is not None:
            self._deaths = _read(self._file)
            self._rewrite()

    def deaths(self, flight: str) -> int:
        """How often the worker died while it was at work on this."""
        return self._deaths.get(flight, 0)

    def turn(self, flight: str) -> AbstractAsyncContextManager[object]:
        """To be waited for before the work on an action: who was at work at two deaths is not beside another suspect.

        (With one killer beside another's suspect, the third death would be blamed on both.)
        """
        deaths = self.deaths(flight)
        if deaths >= ALONE_AFTER:
            return self._suspects.alone()
        return self._suspects.together() if deaths else nullcontext()

    @contextmanager
    def noted(self, flight: str) -> Iterator[None]:
        """Around the work on an action."""
        self._at_work.add(flight)
        self._write(f"+ {flight}\n")
        try:
            yield
        finally:
            self._end(flight)

    def forgive(self) -> None:
        """Nothing that is at work now is to blame for what comes."""
        for flight in list(self._at_work):
            self._end(flight)

    def _end(self, flight: str) -> None:
        self._at_work.discard(flight)
        self._deaths.pop(flight, None)
        self._write(f"- {flight}\n")

    def _rewrite(self) -> None:
        """Only what still counts, and no more than half of what there is room for: the oldest deaths go first."""
        deaths = "".join(f"{deaths} {flight}\n" for flight, deaths in self._deaths.items())
        notes = (deaths + "".join(f"+ {flight}\n" for flight in self._at_work)).encode()[-FILE_BYTES // 2 :]
        if self._pages is not None:
            self._pages[:] = notes.ljust(FILE_BYTES, b"\0")
            self._written = len(notes)

    def _write(self, line: str) -> None:
        if self._pages is None:
            return
        note = line.encode()
        if self._written + len(note) > FILE_BYTES:
            self._rewrite()
        end = self._written + len(note)
        self._pages[self._written : end] = note
        self._written = end


class Suspects:
    """Turns: either one alone, or any number together."""

    def __init__(self) -> None:
        self._change = asyncio.Event()
        self._together = 0
        self._alone = False

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        while self._alone or self._together:
            await self._change.wait()
        self._alone = True
        try:
            yield
        finally:
            self._alone = False
            self._changed()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        while self._alone:
            await self._change.wait()
        self._together += 1
        try:
            yield
        finally:
            self._together -= 1
            self._changed()

    def _changed(self) -> None:
        """Wakes all who wait; they look anew."""
        self._change.set()
        self._change = asyncio.Event()


def flight_of(action: SessionRequested | ToolCallRequested | SessionCloseRequested) -> str:
    """The name of the work on an action: the same in every attempt of a rollout that asks for the same."""
    if not isinstance(action, ToolCallRequested):
        return f"{action.rollout_id}/{action.type}"
    function = action.call.function
    return f"{action.rollout_id}/{crc32(f'{function.name} {function.arguments}'.encode()):08x}"


def _open_alone(path: Path) -> FileIO | None:
    """The file, None while another worker notes its own actions there: they are no sign of a death."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = FileIO(path, "a+")
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        log.warning("another worker has this file: actions are not noted", file=str(path))
        file.close()
        return None
    return file


def _pages(file: FileIO) -> mmap | None:
    """The file's pages. Work goes on without the hint: what the disk can't hold must not fail a tool."""
    try:
        os.posix_fallocate(file.fileno(), 0, FILE_BYTES)
        return mmap(file.fileno(), FILE_BYTES)
    except OSError as error:
        log.warning("actions are not noted", file=file.name, reason=str(error))
        return None


def _read(file: FileIO) -> dict[str, int]:
    """The deaths of each flight, the last one counted in: what was at work is what has no end."""
    deaths: dict[str, int] = {}
    at_work: dict[str, None] = {}
    file.seek(0)
    for line in file.read().rstrip(b"\0").decode(errors="replace").splitlines():
        mark, _, flight = line.partition(" ")
        if mark == "+":
            at_work[flight] = None
        elif mark == "-":
            at_work.pop(flight, None)
            deaths.pop(flight, None)
        elif mark.isdecimal():
            deaths[flight] = int(mark)
    for flight in at_work:
        deaths[flight] = deaths.pop(flight, 0) + 1
    return dict(list(deaths.items())[-MOST_SUSPECTS:])
