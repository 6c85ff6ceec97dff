"""Trainers for the CPU in a cache, each with what odradek-training needs: installed once for each lock."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support import cache

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "tests/training/stubs.py"
PYTHONS = {"verl": "3.11", "skyrl": "3.12", "verifiers": "3.11", "unsloth": "3.11"}
"""The trainers, and what each runs on."""
WITHOUT_TORCH = ("verifiers",)
INSTALL_SECONDS = 1800
LOOK_SECONDS = 20


class NoPython(Exception):
    """A trainer's Python is not here."""


def folder(name: str) -> Path:
    return cache.folder(name, _lock(name).read_text() + STUBS.read_text())


def python(name: str) -> Path:
    """The Python that has a trainer."""
    return folder(name) / "venv/bin/python"


def install(name: str) -> float:
    """Install a trainer, unless it is there; returns the seconds that it took. Raises NoPython."""
    began = time.monotonic()
    if cache.is_filled(folder(name)):
        return 0.0
    base = _base(PYTHONS[name])
    with cache.filling(folder(name)):
        _install_packages(name, base)
        if name not in WITHOUT_TORCH:
            packages = folder(name) / f"venv/lib/python{PYTHONS[name]}/site-packages"
            _do([str(python(name)), str(STUBS), str(packages)])
    return time.monotonic() - began


def _lock(name: str) -> Path:
    return ROOT / "locks" / f"{name}.txt"


def _install_packages(name: str, base: str) -> None:
    """Without looking at what the packages ask for: the lock says it all, and leaves out what needs a GPU."""
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    _do([*uv, "venv", "--python", base, str(folder(name) / "venv")])
    packages = ["--no-deps", "--require-hashes", "--requirement", str(_lock(name))]
    _do([*uv, "pip", "install", "--python", str(python(name)), *packages])


def _base(version: str) -> str:
    """A Python of that version: this one, the one on the PATH, pyenv's. Raises NoPython."""
    check = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
    for found in _candidates(version):
        command = [found, "-c", check]
        done = subprocess.run(command, timeout=LOOK_SECONDS, check=False, capture_output=True)
        if done.returncode == 0:
            return found
    raise NoPython(f"a Python {version} is needed on the PATH")


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    if found := shutil.which(f"python{version}"):
        yield found
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(map(str, root.glob(f"versions/{version}*/bin/python")), reverse=True)


def _do(command: list[str]) -> None:
    subprocess.run(command, timeout=INSTALL_SECONDS, check=True)
