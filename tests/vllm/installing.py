"""vLLM for the CPU in a cache, with the tiny model: installed once for each lock."""

import subprocess
import sys
import time
from pathlib import Path

from tests.support import cache

LOCK = Path(__file__).parents[2] / "locks" / "vllm.txt"
WRITER = Path(__file__).with_name("tiny_model.py")
PYTHON = "3.11"
INSTALL_SECONDS = 1800
MODEL_SECONDS = 300


def folder() -> Path:
    return cache.folder("vllm", LOCK.read_text() + WRITER.read_text())


def is_installed() -> bool:
    return cache.is_filled(folder())


def install() -> float:
    """Install it, unless it is there; returns the seconds that it took."""
    began = time.monotonic()
    if is_installed():
        return 0.0
    with cache.filling(folder()):
        _install_packages(folder() / "venv")
        _do([str(folder() / "venv/bin/python"), str(WRITER), str(folder() / "model")], MODEL_SECONDS)
    return time.monotonic() - began


def _install_packages(venv: Path) -> None:
    """Without looking at what the packages ask for: the lock says it all, and torch is another build than vLLM's own."""
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    _do([*uv, "venv", "--python", PYTHON, str(venv)], INSTALL_SECONDS)
    packages = ["--no-deps", "--require-hashes", "--requirement", str(LOCK)]
    _do([*uv, "pip", "install", "--python", str(venv), *packages], INSTALL_SECONDS)


def _do(command: list[str], seconds: float) -> None:
    subprocess.run(command, timeout=seconds, check=True)
