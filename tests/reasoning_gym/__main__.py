"""`python -m tests.reasoning_gym [ARGUMENT ...]`: installs the reasoning-gym library in a cache, and runs the tests that need it."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support import cache

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "locks" / "reasoning_gym.txt"
TESTS = "environments/reasoning_gym"
INSTALL_SECONDS = 900


def install() -> Path:
    """The folder with the library and what it needs; installed once for each lock."""
    folder = cache.folder("reasoning-gym", LOCK.read_text())
    if not cache.is_filled(folder):
        uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
        with cache.filling(folder):
            packages = ["--no-deps", "--require-hashes", "--requirement", str(LOCK)]
            command = [*uv, "pip", "install", "--python", sys.executable, "--target", str(folder), *packages]
            subprocess.run(command, timeout=INSTALL_SECONDS, check=True)
    return folder


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = str(install())
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-m", "reasoning_gym", TESTS, *sys.argv[1:]])
