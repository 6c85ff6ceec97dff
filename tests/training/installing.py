"""TRL for the CPU in a cache, with what odradek-training needs: installed once for each lock."""

import subprocess
import sys
import time
from pathlib import Path

from tests.support import cache

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "locks" / "trl.txt"
STUBS = Path(__file__).with_name("stubs.py")
PYTHON = "3.11"
INSTALL_SECONDS = 1800
OURS = ("schemas", "sdk", "runtime", "training")
"""The packages of this checkout that a trainer imports: found by path, so that one cache serves all checkouts."""


def folder() -> Path:
    return cache.folder("trl", LOCK.read_text() + STUBS.read_text())


def python() -> Path:
    return folder() / "venv/bin/python"


def is_installed() -> bool:
    return cache.is_filled(folder())


def install() -> float:
    """Install it, unless it is there; returns the seconds that it took."""
    began = time.monotonic()
    if is_installed():
        return 0.0
    with cache.filling(folder()):
        _install_packages(folder() / "venv")
        packages = folder() / f"venv/lib/python{PYTHON}/site-packages"
        _do([str(python()), str(STUBS), str(packages)])
    return time.monotonic() - began


def _install_packages(venv: Path) -> None:
    """Without looking at what the packages ask for: the lock says it all, and leaves out what torch asks for of CUDA."""
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    _do([*uv, "venv", "--python", PYTHON, str(venv)])
    packages = ["--no-deps", "--require-hashes", "--requirement", str(LOCK)]
    _do([*uv, "pip", "install", "--python", str(venv), *packages])


def _do(command: list[str]) -> None:
    subprocess.run(command, timeout=INSTALL_SECONDS, check=True)
