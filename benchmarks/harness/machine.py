"""The machine: what it is, how fast it is now, and whether something else runs on it that would spoil a measurement."""

import os
import platform
import resource
import statistics
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
WORKERS = ("task-producer", "agent-worker", "env-worker", "verifier-worker", "model-gateway")
BUSY = 0.25
"""Load average per core above which a figure is doubtful."""
MOST_NAMED = 8
_COMMANDS = {f"odradek-{worker}" for worker in WORKERS}


class NotQuietError(RuntimeError):
    """Something of Odradek's runs here already; the message says what, and how to end it."""


def calibration_ms() -> float:
    """Wall time of a fixed piece of Python on one core: how fast this machine is, and how busy others keep it."""
    times = []
    for _ in range(5):
        started, total = time.perf_counter(), 0
        for i in range(2_000_000):
            total += i * i % 7
        times.append(time.perf_counter() - started)
    return round(1000 * statistics.median(times), 1)


def load_per_core() -> float:
    """The load average of the last minute, per core."""
    return round(os.getloadavg()[0] / (os.cpu_count() or 1), 2)


def allow_open_files() -> None:
    """Let this process and those that it starts open as many files as the system allows: a connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def describe() -> str:
    """Cores, memory, processor and Python in one line."""
    memory = psutil.virtual_memory().total / 2**30
    parts = [
        f"{os.cpu_count()} cores",
        f"{memory:.0f} GiB",
        _processor(),
        f"Python {platform.python_version()}",
    ]
    return ", ".join(parts)


def commit() -> str:
    """The commit that is measured, with `+changes` when tracked files other than results and pages differ."""
    found = _git("rev-parse", "--short", "HEAD").strip()
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":!benchmarks/results", ":!docs")
    return (found or "unknown") + ("+changes" if changed else "")


def check_quiet() -> None:
    """Refuse to measure beside another stack.

    Raises:
        NotQuietError: names the processes.
    """
    found = others()
    if found:
        raise NotQuietError(
            "Something of Odradek's runs on this machine and would spoil the figures:\n  "
            + "\n  ".join([*found[:MOST_NAMED], *(["..."] if len(found) > MOST_NAMED else [])])
            + "\nStop it (`odradek down`, or end these processes), or measure all the same with --force."
        )


def others() -> list[str]:
    """Processes of other stacks and other measurements: `pid command`."""
    mine = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = process.info["cmdline"] or []
        if process.pid not in mine and _is_ours(words):
            found.append(f"{process.pid} {' '.join(words)[:120]}")
    return found


def _is_ours(words: list[str]) -> bool:
    modules = [after for word, after in pairwise(words) if word == "-m"]
    programs = {os.path.basename(word) for word in words[:5]}
    return bool(_COMMANDS & programs) or any(
        module == "odradek_local.daemon" or module.split(".")[0] == "benchmarks" for module in modules
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _git(*arguments: str) -> str:
    found = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return found.stdout
