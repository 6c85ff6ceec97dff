"""Runs a command that is killed by the kernel as soon as its parent is gone: `guard.py PARENT_PID COMMAND...`.

Stands alone (the standard library, no package): it is started as a file, before the real program takes its place.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Asks the kernel for SIGKILL at the parent's end; the setting survives execve.

    Raises OSError when the kernel refuses, and exits when the parent is gone already.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl(PR_SET_PDEATHSIG): {os.strerror(code)}")
    if os.getppid() != parent:  # it ended before the prctl: no signal will come
        sys.exit(f"the parent process {parent} is gone")


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
