"""Small disks that a test can fill: file systems in memory, mounted where a stack keeps its data."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

FILLER = "filler"
_MOUNT_SECONDS = 20


@contextmanager
def small_disks(folder: Path, disks: Mapping[str, int]) -> Iterator[None]:
    """Disks below `folder`, of so many MiB, until the end of the `with`."""
    with ExitStack() as mounted:
        for name, mib in disks.items():
            mounted.enter_context(_mounted(folder / name, mib))
        yield


@cache
def can_mount() -> bool:
    """Whether this process may mount a disk, which takes root's rights."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with _mounted(Path(folder), 1):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def fill(disk: Path) -> int:
    """Take all that is left of a disk; returns how many bytes that was."""
    written = 0
    with (disk / FILLER).open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12):
            try:
                while True:
                    written += file.write(bytes(size))
            except OSError:
                continue
    return written


def free(disk: Path) -> None:
    """Give back what `fill` took."""
    os.unlink(disk / FILLER)


@contextmanager
def _mounted(folder: Path, mib: int) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder))
    try:
        yield
    finally:
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_MOUNT_SECONDS)
