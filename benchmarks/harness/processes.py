"""What processes use: seconds of CPU and bytes of memory, each with all its children."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

TICKS = os.sysconf("SC_CLK_TCK")

Pids = Mapping[str, Iterable[int]]
"""Process ids by component (`kafka`, `agent-worker`, ...)."""


@dataclass(frozen=True)
class Memory:
    """In MB. `pss` counts a page that several processes share in parts; `rss` counts it in each."""

    rss: float
    pss: float


def family(pid: int) -> Iterator[psutil.Process]:
    """The process and its children's children, as far as they live."""
    try:
        process = psutil.Process(pid)
        yield process
        yield from process.children(recursive=True)
    except psutil.NoSuchProcess:
        return


def lives(pid: int) -> bool:
    """Whether the process is there, and not only waits to be buried."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def cpu_seconds(pids: Pids) -> dict[str, float]:
    """Seconds of CPU by component since its start; children that have ended are counted by their parents."""
    return {name: sum(_spent(member) for pid in ids for member in family(pid)) for name, ids in pids.items()}


def memory(pids: Pids) -> dict[str, Memory]:
    """Memory now by component."""
    found = {
        name: [_memory(member.pid) for pid in ids for member in family(pid)] for name, ids in pids.items()
    }
    return {name: Memory(sum(m.rss for m in of), sum(m.pss for m in of)) for name, of in found.items()}


def threads_cpu(pid: int) -> dict[int, float]:
    """Seconds of CPU of one process by the ids of its threads."""
    seconds = {}
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # a thread that has ended since
        seconds[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    return seconds


def _spent(process: psutil.Process) -> float:
    try:
        return float(sum(process.cpu_times()[:4]))
    except psutil.NoSuchProcess:
        return 0.0


def _memory(pid: int) -> Memory:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return Memory(0.0, 0.0)
    kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return Memory(kilobytes["Rss:"] / 1000, kilobytes["Pss:"] / 1000)
