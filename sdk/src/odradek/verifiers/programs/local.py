"""Running programs on this machine, behind the strongest fence that it allows."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from odradek.verifiers.programs.isolation import Fence, Isolation, Place, own_uid, tasks_of
from odradek.verifiers.programs.jobs import Ended, Finished, Job, Limits, RunnerUnavailable

_PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")
"""Tried after the verifier's own, which another user may not be allowed to run."""

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_PYTHON_OPTIONS = ("-s", "-P", "-B")
_PROBE_SECONDS = 20.0
_REAP_SECONDS = 10.0
_SWEEP_PAUSE = 0.002
_KEPT_STDERR_BYTES = 4096
_SIGNAL_BASE, _LAST_SIGNAL = 128, 64


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """One fence, and the Python behind it."""

    fence: Fence
    site_packages: bool = False
    """Whether programs may import what is installed for that Python; else its standard library alone."""

    @property
    def name(self) -> str:
        return self.fence.isolation.value

    def run(self, job: Job, limits: Limits) -> Finished:
        """See `Runner`."""
        with (
            _place(job, self.fence.uid) as place,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            command = self.fence.command(place, self._program(job, place), limits)
            began = time.monotonic()
            with tempfile.TemporaryFile() as given:
                given.write(job.stdin)
                given.seek(0)
                process = _start(command, self._environment(place), place, (given, out, err))
            in_time = self._end(process, limits.seconds)
            seconds = time.monotonic() - began
            return _finished(process.returncode, in_time, seconds, out, err, limits)

    def _program(self, job: Job, place: Place) -> list[str]:
        seen = self.fence.files_seen(place)
        words = [str(seen / word) if word in job.files else word for word in job.command]
        if words[0] != "python3":
            return words
        without_site = () if self.site_packages else ("-S",)
        return [str(self.fence.python), *_PYTHON_OPTIONS, *without_site, *words[1:]]

    def _environment(self, place: Place) -> dict[str, str]:
        scratch = str(self.fence.scratch_seen(place))
        return _ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch}

    def _end(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Wait for the program, kill what is left of it, and tell whether it ended by itself."""
        in_time = False
        try:
            in_time = _wait(process, seconds)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # before it is reaped: the number is its own until then
            _reap(process)
            self._sweep()
        return in_time

    def _sweep(self) -> None:
        """Kill what left the process group, by its user, who has nothing else on this machine."""
        uid = self.fence.uid
        if uid is None or self.fence.isolation is not Isolation.PLAIN or not tasks_of(uid):
            return
        kill_all = [str(self.fence.python), "-I", "-S", "-c", "import os; os.kill(-1, 9)"]
        subprocess.run(kill_all, user=uid, group=uid, extra_groups=[], timeout=_REAP_SECONDS, check=True)
        deadline = time.monotonic() + _REAP_SECONDS
        while tasks_of(uid):
            if time.monotonic() > deadline:
                raise RunnerUnavailable(f"processes of user {uid} do not end after they were killed")
            time.sleep(_SWEEP_PAUSE)


@cache
def local_runner(isolation: Isolation | None = None, python: str | None = None) -> LocalRunner:
    """The runner with the strongest isolation that works here (or the one that is asked for).

    `python`, a path, is the interpreter of Python programs, which may then import what is installed for it. By default
    it is the one that runs this, or the system's, and programs have the standard library alone.

    Raises:
        RunnerUnavailable: none works; says why, of each.
    """
    reasons: list[str] = []
    for runner in _candidates(isolation, python):
        problem = _problem(runner)
        if problem is None:
            return runner
        reasons.append(f"{runner.name} with {runner.fence.python}: {problem}")
    raise RunnerUnavailable(
        "programs can't be run on this machine; install the package bubblewrap, or run the verifier as a user "
        "that may run Python. Tried " + "; ".join(reasons)
    )


def _candidates(isolation: Isolation | None, python: str | None) -> Iterator[LocalRunner]:
    pythons = [python] if python else [os.path.realpath(sys.executable), *_PYTHONS]
    for kind in [isolation] if isolation else Isolation:
        for path in dict.fromkeys(pythons):
            if python or Path(path).is_file():
                yield LocalRunner(Fence(kind, Path(path), own_uid()), site_packages=python is not None)


def _problem(runner: LocalRunner) -> str | None:
    """Why a program that does nothing can't be run, None where it can."""
    try:
        finished = runner.run(Job(("python3", "-c", "print(1)")), Limits(seconds=_PROBE_SECONDS))
    except (RunnerUnavailable, OSError) as error:
        return str(error)
    if finished.ended is Ended.EXITED and finished.stdout == b"1\n":
        return None
    return finished.stderr.decode(errors="replace").strip() or f"{finished.ended}, {finished.code}"


@contextmanager
def _place(job: Job, uid: int | None) -> Iterator[Place]:
    """A folder that holds the job's files, and is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="odradek-", ignore_cleanup_errors=True) as name:
        place = Place(Path(name))
        place.root.chmod(0o755)
        place.files.mkdir(mode=0o755)
        place.scratch.mkdir(mode=0o700)
        for file, content in job.files.items():
            (place.files / file).write_bytes(content)
            (place.files / file).chmod(0o755)
        if uid is not None:
            os.chown(place.scratch, uid, uid)
        yield place


def _start(
    command: list[str], environment: dict[str, str], place: Place, files: tuple[BinaryIO, BinaryIO, BinaryIO]
) -> subprocess.Popen[bytes]:
    """Files, not pipes: a program that writes without end meets its limit, and nobody has to read along."""
    given, out, err = files
    try:
        return subprocess.Popen(
            command,
            env=environment,
            cwd=place.scratch,
            stdin=given,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    except OSError as error:
        raise RunnerUnavailable(f"{command[0]} can't be started: {error}") from error


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ended in time; it is not reaped yet."""
    handle = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(handle)


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_REAP_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise RunnerUnavailable(f"process {process.pid} does not end after it was killed") from error


def _finished(
    status: int, in_time: bool, seconds: float, out: BinaryIO, err: BinaryIO, limits: Limits
) -> Finished:
    ended, code = ending(status, in_time)
    written = max(os.fstat(file.fileno()).st_size for file in (out, err))
    if written >= limits.output_bytes and ended is not Ended.OUT_OF_TIME:
        ended = Ended.OUT_OF_OUTPUT
    return Finished(ended, code, _head(out, limits.output_bytes), _tail(err, _KEPT_STDERR_BYTES), seconds)


def ending(status: int, in_time: bool) -> tuple[Ended, int]:
    """How it ended, and its exit status or the signal's number, from what `Popen` calls its return code.

    A fence tells of a program that a signal ended as shells do: 128 and the signal's number.
    """
    if not in_time:
        return Ended.OUT_OF_TIME, signal.SIGKILL
    if status < 0:
        return Ended.SIGNALLED, -status
    if _SIGNAL_BASE < status <= _SIGNAL_BASE + _LAST_SIGNAL:
        return Ended.SIGNALLED, status - _SIGNAL_BASE
    return Ended.EXITED, status


def _head(file: BinaryIO, most: int) -> bytes:
    file.seek(0)
    return file.read(most)


def _tail(file: BinaryIO, most: int) -> bytes:
    file.seek(max(0, os.fstat(file.fileno()).st_size - most))
    return file.read(most)
