"""Samples the Python program that it is put in front of: what runs whenever ten milliseconds of CPU are spent.

The folder of this file goes on PYTHONPATH and `ODRADEK_BENCH_SAMPLES` names a folder: then `PID.ready` appears there,
SIGUSR1 begins to sample anew, and SIGUSR2 ends it and writes `PID.raw`: a line for each different stack, its frames
`function (path:line)` from the outermost, separated by semicolons, and how often it was seen.

The timer counts CPU alone, so that waiting for a lock, a socket or a core is not counted. Stands alone: it is loaded
before anything else, and must not change what it measures.
"""

import os
import signal
import sys
from collections import Counter
from types import CodeType, FrameType

SECONDS = 0.01
LIBRARY = f"/lib/python{sys.version_info.major}.{sys.version_info.minor}/"
FOLDER = os.environ.get("ODRADEK_BENCH_SAMPLES", "")

_seen: Counter[tuple[CodeType, ...]] = Counter()


def _take(number: int, frame: FrameType | None) -> None:
    stack = []
    while frame is not None:
        stack.append(frame.f_code)
        frame = frame.f_back
    _seen[tuple(stack)] += 1


def _begin(number: int, frame: FrameType | None) -> None:
    _seen.clear()
    signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)


def _end(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    partial = os.path.join(FOLDER, f"{os.getpid()}.partial")
    with open(partial, "w") as file:
        for stack, count in _seen.items():
            file.write(";".join(_name(code) for code in reversed(stack)) + f" {count}\n")
    os.replace(partial, os.path.join(FOLDER, f"{os.getpid()}.raw"))


def _name(code: CodeType) -> str:
    path = code.co_filename
    for part in ("/site-packages/", "/src/", LIBRARY):
        path = path.rpartition(part)[2] or path
    return f"{code.co_qualname} ({path}:{code.co_firstlineno})".replace(";", ",")


if FOLDER:
    signal.signal(signal.SIGPROF, _take)
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _end)
    with open(os.path.join(FOLDER, f"{os.getpid()}.ready"), "w"):
        pass
