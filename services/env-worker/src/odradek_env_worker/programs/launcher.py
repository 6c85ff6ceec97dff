"""Runs a command and ends with it, and with all that it started: `launcher.py PARENT_PID HOME COMMAND...`.

A program starts others, which may leave its session. Whoever loses its parent becomes this process's child (it is
their subreaper), so at the end nobody is missed: not when the command ends, nor when SIGTERM says that its time is up,
nor when the worker is killed, for then the kernel sends that SIGTERM. Then the program's home goes, too.

Stands alone (the standard library, no package): it is started as a file, in the program's own environment.
"""

import ctypes
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

NOT_STARTED = 127
SIGNALLED = 128
"""Above it the exit code is the number of the signal that ended the command."""

_LOOK_SECONDS = 0.01
_HEARD = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def main() -> NoReturn:
    parent, home, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _tie(signal.SIGTERM, parent)
    code = _run(command)
    _end_all()
    if os.getppid() != parent:
        shutil.rmtree(home, ignore_errors=True)
    os._exit(code)


def _run(command: list[str]) -> int:
    """Run the command to its end, or until a signal says that it is over."""
    own = os.getpid()
    child = os.fork()
    if child == 0:
        _become(command, own)
    while (heard := signal.sigwait(_HEARD)) == signal.SIGCHLD:
        for pid, status in _reaped():
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else SIGNALLED - code
    return SIGNALLED + heard


def _become(command: list[str], launcher: int) -> NoReturn:
    """In the child: a session of its own, so that a signal to its group does not meet the launcher."""
    try:
        os.setsid()
        _tie(signal.SIGKILL, launcher)
        os.umask(0o022)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in _SET_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} can't be started: {error}\n")
        sys.stderr.flush()
    os._exit(NOT_STARTED)


def _end_all() -> None:
    """Kill every descendant, until none is left. Whoever is gone by now has handed its children to this process."""
    while True:
        for pid in _descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            list(_reaped())
        except ChildProcessError:
            return
        time.sleep(_LOOK_SECONDS)


def _reaped() -> Iterator[tuple[int, int]]:
    """The children that have ended. Raises ChildProcessError: there are none, ended or not."""
    while (found := os.waitpid(-1, os.WNOHANG))[0]:
        yield found


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
            parent = int(stat.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def _tie(number: int, parent: int) -> None:
    """Ask the kernel for a signal at the parent's end."""
    _prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it ended before: no signal will come
        os._exit(NOT_STARTED)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


if __name__ == "__main__":
    main()
