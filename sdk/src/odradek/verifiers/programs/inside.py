"""Runs beside the model's program, inside the fence: plays the program once for each input and tells what it wrote.

    python3 inside.py script SECONDS OUTPUT_BYTES FILE NAMES < INPUTS
    python3 inside.py function SECONDS OUTPUT_BYTES FILE NAMES FUNCTION < INPUTS
    python3 inside.py binary SECONDS OUTPUT_BYTES FILE < INPUTS

NAMES is a file of imports that FILE does not need to have. INPUTS is a JSON list of texts. For each, in order, one line of JSON goes to the standard output: `status` (as `Popen` calls
its return code), `in_time`, `seconds`, `stdout`, `stderr`; after the first run that is not clean, no more. Nothing here
knows what is expected, and the program may do to this process what it likes: all it can win is to be taken for wrong.

It stands alone, on the standard library, since it is carried to where the program runs.
"""

import ctypes
import gc
import json
import os
import resource
import select
import signal
import sys
import time
from types import ModuleType

PR_SET_PDEATHSIG = 1

KEPT_STDERR_BYTES = 2048
RECURSION_LIMIT = 50000
MOST_DIGITS = 1 << 20
"""NeMo Gym's code_gen server gives programs the same two limits."""


def main(kind: str, seconds: str, output_bytes: str, file: str, *more: str) -> int | str:
    inputs = json.load(sys.stdin)
    report = os.dup(1)
    gc.freeze()  # a child that leaves has half as much to take down
    for given in inputs:
        files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
        write_whole(files[0], given.encode("utf-8", "surrogatepass"))
        began, parent, child = time.monotonic(), os.getpid(), os.fork()
        if child == 0:
            become(parent, files, int(output_bytes))
            return play(kind, file, *more)
        in_time, status = end(child, float(seconds))
        told = {
            "status": status,
            "in_time": in_time,
            "seconds": time.monotonic() - began,
            "stdout": text(files[1], 0),
            "stderr": text(files[2], KEPT_STDERR_BYTES),
        }
        write_whole(report, json.dumps(told).encode() + b"\n")
        if status != 0 or not in_time:
            return 0
        for descriptor in files:
            os.close(descriptor)
    return 0


def end(child: int, seconds: float) -> tuple[bool, int]:
    """Wait for the child, kill it when its time is over: whether it ended in time, and its status."""
    handle = os.pidfd_open(child)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    in_time = bool(poll.poll(seconds * 1000))
    if not in_time:
        os.kill(child, signal.SIGKILL)
    os.close(handle)
    return in_time, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def become(parent: int, files: list[int], output_bytes: int) -> None:
    """In the child: die with the parent, and have the files as the three standard ones, and no others."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    for number, descriptor in enumerate(files):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.dup2(descriptor, number)
    os.closerange(3, 256)
    resource.setrlimit(resource.RLIMIT_FSIZE, (output_bytes, output_bytes))


def play(kind: str, file: str, *more: str) -> int | str:
    """In the child: be the program, and give the status to leave with."""
    if kind == "binary":
        os.execv(file, [file])
    results = os.dup(1)
    if kind == "function":
        os.dup2(2, 1)  # what it prints is no result
    fresh_streams(file)
    try:
        program = load(file, more[0])
        if kind == "function":
            answer(program, more[1], results)
    except SystemExit:
        # NeMo Gym, too, judges a script that leaves by what it wrote, whatever the status.
        return "the program left before there was a result" if kind == "function" else 0
    except BaseException:  # noqa: BLE001 - whatever a program raises is its result
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def fresh_streams(file: str) -> None:
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = [file]
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.set_int_max_str_digits(MOST_DIGITS)


def load(file: str, names: str) -> ModuleType:
    """Run the file as the main module, in which the names of the other file are known."""
    program = sys.modules["__main__"] = ModuleType("__main__")
    program.__dict__.update(__file__=file, exit=sys.exit, quit=sys.exit)
    for path in (names, file):
        with open(path, "rb") as source:
            exec(compile(source.read(), path, "exec"), program.__dict__)
    return program


def answer(program: ModuleType, name: str, results: int) -> None:
    """Call the function (or the method of `Solution`), and write what it returns as JSON."""
    arguments = json.load(sys.stdin)
    holder = program.Solution() if hasattr(program, "Solution") else program
    returned = getattr(holder, name)(*arguments)
    write_whole(results, json.dumps(returned).encode())


def write_whole(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def text(descriptor: int, most: int) -> str:
    """What was written, at the end `most` bytes of it where that is not 0."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - most) if most else 0
    return os.pread(descriptor, size - start, start).decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
