"""NeMo Gym in a cache, with a Python 3.13 of its own: installed once for each lock."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support import cache

LOCK = Path(__file__).parents[2] / "locks" / "nemo-gym.txt"
INSTALL_SECONDS = 1800
LOOK_SECONDS = 20
IS_313 = "import sys; sys.exit(sys.version_info[:2] != (3, 13))"


class NoPython(Exception):
    """There is no Python 3.13 here."""


def folder() -> Path:
    return cache.folder("nemo-gym", LOCK.read_text())


def is_installed() -> bool:
    return cache.is_filled(folder())


def python() -> Path:
    """The Python that has NeMo Gym."""
    return folder() / "venv/bin/python"


def servers() -> Path:
    """The folder of NeMo Gym's own servers."""
    return folder() / "venv/lib/python3.13/site-packages/resources_servers"


def install() -> float:
    """Install it, unless it is there; returns the seconds that it took. Raises NoPython."""
    began = time.monotonic()
    if is_installed():
        return 0.0
    base = _python_313()
    with cache.filling(folder()):
        _install(base, folder() / "venv")
    return time.monotonic() - began


def _install(base: str, venv: Path) -> None:
    """By pip, which can be told to take no notice that NeMo Gym asks for 3.13.14: it runs on 3.13.0 as well."""
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    _do([*uv, "venv", "--seed", "--python", base, str(venv)])
    pip = [str(venv / "bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    _do([*pip, "--no-deps", "--require-hashes", "--ignore-requires-python", "--requirement", str(LOCK)])


def _do(command: list[str]) -> None:
    subprocess.run(command, timeout=INSTALL_SECONDS, check=True)


def _python_313() -> str:
    for found in _candidates():
        if (
            subprocess.run(
                [found, "-c", IS_313], timeout=LOOK_SECONDS, check=False, capture_output=True
            ).returncode
            == 0
        ):
            return found
    raise NoPython("a Python 3.13 is needed: install one, or say PYTHON313=/path/to/python3.13")


def _candidates() -> Iterator[str]:
    """The one that is named, the one on the PATH, pyenv's."""
    for found in (os.environ.get("PYTHON313"), shutil.which("python3.13")):
        if found:
            yield found
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(map(str, root.glob("versions/3.13*/bin/python")), reverse=True)
