"""A child process: its log is a file, it ends when its parent ends, and it is stopped with its whole group."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from odradek_local import guard

TAIL_LINES = 30
KILLED_WITHIN_S = 10.0


class ProcessError(RuntimeError):
    """A part of the local stack ended or never became healthy; the message shows the end of its log."""


class Process:
    """One child process, started by `start()` and ended by `stop()`.

    It runs in a session of its own, so that a Ctrl-C in the terminal reaches only the parent, which stops it in
    order. The kernel kills it when the *thread* that called `start()` ends: call it from a thread that lives as
    long as the program, such as the main thread.
    """

    def __init__(self, name: str, command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None):
        self.name = name
        self.command = list(command)
        self.log = log
        self.env = dict(os.environ if env is None else env)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; raises RuntimeError before `start()`."""
        return self._started().pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit status (negative: minus the signal), or None while it runs."""
        return self._started().poll()

    def start(self) -> None:
        """Starts the program; a second start after its end is a restart that appends to the same log."""
        if self.running:
            raise RuntimeError(f"{self.name} runs already (pid {self.pid})")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        guarded = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), *self.command]
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                guarded,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.env,
                start_new_session=True,
            )

    async def ended(self) -> int:
        """Waits for the end of the process and returns its exit code; wakes at once (pidfd)."""
        child = self._started()
        if child.poll() is not None:
            return child.returncode
        loop, gone = asyncio.get_running_loop(), asyncio.Event()
        descriptor = os.pidfd_open(child.pid)
        loop.add_reader(descriptor, gone.set)
        try:
            await gone.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return child.wait()

    def stop(self, grace_s: float = 10.0) -> None:
        """SIGTERM, then SIGKILL to the whole group when it has not ended within `grace_s` seconds."""
        if self._child is None:
            return
        if self.running:
            self._child.terminate()
            try:
                self._child.wait(timeout=grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
        self._signal_group(signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL to the process and its group, at once.

        Raises subprocess.TimeoutExpired when the kernel can't end it: it hangs in a device.
        """
        if self._child is not None:
            self._signal_group(signal.SIGKILL)
            self._child.wait(timeout=KILLED_WITHIN_S)

    def tail(self, lines: int = TAIL_LINES) -> str:
        """The last lines of the log, or a note that it is empty."""
        return tail(self.log, lines)

    def failure(self, what: str) -> ProcessError:
        """An error that says what happened to this process and shows the end of its log."""
        return ProcessError(f"{self.name} {what}. The end of its log, {self.log}:\n{self.tail()}")

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._child is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._child

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self._started().pid, number)
        except ProcessLookupError:
            return  # the group is gone: nothing is left to end


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a text file; reads its last 64 KiB only."""
    if not path.exists() or path.stat().st_size == 0:
        return "(empty)"
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 65536))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
