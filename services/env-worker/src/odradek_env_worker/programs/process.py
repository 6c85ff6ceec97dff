"""One program's process: its output, its time, its end."""

import asyncio
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import structlog

from odradek.programs.launching import Launch
from odradek.programs.reading import MOST_OF_STREAM
from odradek_env_worker.programs import launcher

log = structlog.get_logger()

END_SECONDS = 10.0
"""For the launcher to end a program with all that it started."""
OUTPUT_SECONDS = 5.0
"""For the rest of the output, when the program is gone."""

_CHUNK = 64 << 10


class Tail:
    """The end of a stream: what comes before its last `MOST_OF_STREAM` is dropped as it comes."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    async def fill(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_CHUNK):
            self._bytes += chunk
            if len(self._bytes) > 2 * MOST_OF_STREAM:
                del self._bytes[:-MOST_OF_STREAM]

    @property
    def text(self) -> str:
        return self._bytes[-MOST_OF_STREAM:].decode(errors="replace")


class ProgramProcess:
    """A program under its launcher. Of what `start` has begun nothing is left after `end`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self.stdout, self.stderr = Tail(), Tail()
        self._readers = [
            asyncio.create_task(self.stdout.fill(process.stdout)),
            asyncio.create_task(self.stderr.fill(process.stderr)),
        ]

    @classmethod
    async def start(cls, launch: Launch, home: Path, workspace: Path) -> "ProgramProcess":
        guarded = (launcher.__file__, str(os.getpid()), str(home), *launch.argv)
        with tempfile.TemporaryFile() as stdin:  # unlike a pipe it waits for no reader
            stdin.write(launch.stdin.encode())
            stdin.seek(0)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", *guarded),
                stdin=stdin,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=dict(launch.environment),
                cwd=workspace,
                start_new_session=True,
            )
        return cls(process)

    async def exit_code(self, seconds: float) -> int | None:
        """Its exit code; None: it has not ended after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._process.wait()
        return None

    async def end(self) -> None:
        """End all of it that still runs, and read what it has written."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        if await self.exit_code(END_SECONDS) is None:
            log.warning("a program can't be ended: it is killed, and what it started may go on")
            self._process.kill()
        done, late = await asyncio.wait(self._readers, timeout=OUTPUT_SECONDS)
        for reader in late:
            reader.cancel()
        for reader in done:
            reader.result()
