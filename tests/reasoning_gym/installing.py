"""The reasoning-gym library in a cache: installed once for each lock."""

import subprocess
import sys
from pathlib import Path

from tests.support import cache

LOCK = Path(__file__).parents[2] / "locks" / "reasoning_gym.txt"
INSTALL_SECONDS = 900


def folder() -> Path:
    """Where the library and what it needs are, or would be: for Python's path."""
    return cache.folder("reasoning-gym", LOCK.read_text())


def is_installed() -> bool:
    return cache.is_filled(folder())


def install() -> Path:
    """Install it, unless it is there; its folder."""
    if not is_installed():
        uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
        with cache.filling(folder()):
            packages = ["--no-deps", "--require-hashes", "--requirement", str(LOCK)]
            command = [
                *uv,
                "pip",
                "install",
                "--python",
                sys.executable,
                "--target",
                str(folder()),
                *packages,
            ]
            subprocess.run(command, timeout=INSTALL_SECONDS, check=True)
    return folder()
