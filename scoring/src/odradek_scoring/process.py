"""One verifier process, as its worker sees it."""

import asyncio
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from odradek_scoring.exchange import HEADER, OUT_OF_MEMORY, Job, Progress, Report, Verdict, framed

_BURIAL_SECONDS = 10.0
"""How long a killed process may take to be gone: a busy system takes its time with much memory."""
_SECRETS = "ODRADEK_SEALING_"

log = structlog.get_logger()


@dataclass(frozen=True)
class Bounds:
    """What one process may use: seconds for a job, seconds to start, MiB of address space."""

    job_seconds: float
    start_seconds: float
    memory_mib: int


class ProcessLost(Exception):
    """The process is gone. `index` is the job that it was at, None when it was at none."""

    def __init__(self, index: int | None, reason: str, overdue: bool = False) -> None:
        super().__init__(reason)
        self.index = index
        self.overdue = overdue


class VerifierProcess:
    """A running child. Made by `start`; runs one batch at a time until it is lost or ended."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        progress: Progress,
        bounds: Bounds,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._progress = progress
        self._bounds = bounds
        self._exit = asyncio.create_task(process.wait())
        self._ended = False

    @classmethod
    async def start(cls, bounds: Bounds, environments: Iterable[str] = ()) -> "VerifierProcess":
        """Start a process that has loaded `environments`.

        Raises:
            ProcessLost: it did not come up in time.
        """
        ours, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as page:
            page.truncate(Progress.SIZE)
            progress = Progress(page.fileno())
            progress.clear(time.monotonic())
            process = await _spawn(theirs.fileno(), page.fileno(), bounds, environments)
        reader, writer = await asyncio.open_connection(sock=ours)
        child = cls(process, reader, writer, progress, bounds)
        try:
            await child._hear(time.monotonic(), bounds.start_seconds)
        except BaseException:
            await child.end()
            raise
        return child

    async def run(self, jobs: Sequence[Job]) -> AsyncIterator[dict[int, Verdict]]:
        """Run a batch; yields verdicts by place in it as they come.

        Raises:
            ProcessLost: the process died or had to be killed; what was not yielded has no verdict.
        """
        self._writer.write(framed(pickle.dumps(jobs)))
        sent = time.monotonic()
        missing = len(jobs)
        while missing:
            verdicts = (await self._hear(sent, self._bounds.job_seconds)).verdicts
            missing -= len(verdicts)
            yield verdicts

    @property
    def alive(self) -> bool:
        return not self._exit.done()

    @property
    def at(self) -> int | None:
        """Which job of its batch it is at, None between batches."""
        return self._progress.read()[0]

    async def end(self) -> str:
        """Kill the process and all that it started; returns how it ended, for a person.

        One that the system does not let go of in time is left to it: nobody waits for it any longer.
        """
        if not self._ended:
            self._ended = True
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._writer.close()
        await asyncio.wait({self._exit}, timeout=_BURIAL_SECONDS)
        if self._exit.done():
            return _ending(self._exit.result(), self._bounds)
        log.error("a verifier process was killed and is not gone", pid=self._process.pid)
        return f"its process was killed, and was not gone {_BURIAL_SECONDS:g} s later"

    async def _hear(self, since: float, patience: float) -> Report:
        """The next report. The process must get on to something new every `patience` seconds, first from `since`.

        To load an environment takes as long as a start may.
        """
        report = asyncio.create_task(self._read())
        try:
            while not report.done():
                index, started = self._progress.read()
                allowed = self._bounds.start_seconds if self._progress.loading else patience
                deadline = max(started, since) + allowed
                await asyncio.wait(
                    {report, self._exit},
                    timeout=max(0.0, min(deadline - time.monotonic(), patience)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if report.done():
                    break
                if self._exit.done():
                    raise EOFError
                if time.monotonic() >= deadline and self._progress.read() == (index, started):
                    raise await self._overdue(index, allowed)
            return report.result()
        except (EOFError, OSError, ValueError) as error:
            ending = await self.end()
            raise ProcessLost(self.at, ending) from error
        finally:
            report.cancel()

    async def _read(self) -> Report:
        size = HEADER.unpack(await self._reader.readexactly(HEADER.size))[0]
        return Report.model_validate_json(await self._reader.readexactly(size))

    async def _overdue(self, index: int | None, seconds: float) -> ProcessLost:
        """Kill it. It may have reached the next job in the meantime: then nobody is to blame."""
        await self.end()
        guilty = index if index == self.at else None
        return ProcessLost(guilty, f"took longer than {seconds:g} s", overdue=True)


async def _spawn(
    channel: int, page: int, bounds: Bounds, environments: Iterable[str]
) -> asyncio.subprocess.Process:
    """A session of its own, so that killing it takes its children too; what `verify` prints goes to the log."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "odradek_scoring.child",
        *map(str, (os.getpid(), channel, page, bounds.memory_mib)),
        *environments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=2,
        pass_fds=(channel, page),
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if not name.startswith(_SECRETS)},
    )


def _ending(code: int, bounds: Bounds) -> str:
    if code == OUT_OF_MEMORY:
        return f"used up the {bounds.memory_mib} MiB of memory that a verifier process may have"
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended itself with exit code {code}"
