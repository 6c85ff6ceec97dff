"""TRL for the CPU in a cache, with what odradek-training needs: installed once for each lock."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support import cache

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "locks" / "trl.txt"
EXAMPLE = ROOT / "examples/trl"
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


def letters() -> Path:
    """A folder that holds the example's environment as it is installed: on `PYTHONPATH`, its entry point is found."""
    target = folder() / "letters"
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    where = ["--target", str(target), "--no-deps", "--no-build-isolation", "--upgrade"]
    _do([*uv, "pip", "install", "--python", sys.executable, *where, str(EXAMPLE / "letters")])
    return target


def player(out: Path, trainer: str, steps: int, more: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command that plays the example, and its environment."""
    command = [sys.executable, str(EXAMPLE / "play.py"), "--trainer", trainer, "--python", str(python())]
    path = [str(ROOT / package / "src") for package in OURS]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(folder() / "letters")])}
    return [*command, "--out", str(out), "--steps", str(steps), *more], env


def _install_packages(venv: Path) -> None:
    """Without looking at what the packages ask for: the lock says it all, and leaves out what torch asks for of CUDA."""
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    _do([*uv, "venv", "--python", PYTHON, str(venv)])
    packages = ["--no-deps", "--require-hashes", "--requirement", str(LOCK)]
    _do([*uv, "pip", "install", "--compile-bytecode", "--python", str(venv), *packages])


def _do(command: list[str]) -> None:
    subprocess.run(command, timeout=INSTALL_SECONDS, check=True)
