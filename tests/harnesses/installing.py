"""Programs in a cache: each in a folder of its own, installed once for what its manifest asks for."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from odradek.programs import Program
from tests.support import cache

INSTALL_SECONDS = 900
CHECK_SECONDS = 120


def folder_of(program: Program) -> Path:
    return cache.folder(f"harnesses/{program.name}", program.install.model_dump_json())


def is_installed(program: Program) -> bool:
    return cache.is_filled(folder_of(program))


def install(program: Program) -> float:
    """Install what the manifest asks for, unless it is there; returns the seconds that it took."""
    folder, began = folder_of(program), time.monotonic()
    if is_installed(program):
        return 0.0
    with cache.filling(folder):
        if program.install.pip:
            _install_pip(program, folder)
        if program.install.npm:
            _install_npm(program, folder)
    return time.monotonic() - began


def environment_of(program: Program) -> dict[str, str]:
    """The environment in which the program is found: its own Python, its own Node, then the machine's."""
    folder = folder_of(program)
    own = [folder / "venv/bin", folder / f"node_modules/{_node()}/bin", folder / "node_modules/.bin"]
    path = os.pathsep.join([*(str(place) for place in own if place.is_dir()), os.environ["PATH"]])
    return {**os.environ, "PATH": path}


def version_of(program: Program, home: Path) -> str:
    """What the program's check prints."""
    environment = {"PATH": environment_of(program)["PATH"], "HOME": str(home)}
    done = subprocess.run(
        program.install.check,
        env=environment,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CHECK_SECONDS,
        check=True,
    )
    return done.stdout + done.stderr


def _install_pip(program: Program, folder: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    version = program.install.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    _do([uv, "venv", "--quiet", "--python", version, str(folder / "venv")], folder)
    _do([uv, "pip", "install", "--quiet", "--python", str(folder / "venv"), *program.install.pip], folder)


def _install_npm(program: Program, folder: Path) -> None:
    """Node first: npm takes, without a word, the newest version of a package that fits the Node which runs it."""
    npm = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"--prefix={folder}"]
    if program.install.node is not None:
        _do([*npm, f"{_node()}@{program.install.node}"], folder)
    _do([*npm, *program.install.npm], folder, environment_of(program))


def _do(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    subprocess.run(command, cwd=folder, env=environment, timeout=INSTALL_SECONDS, check=True)


def _node() -> str:
    """The package that holds Node itself."""
    return f"node-linux-{'arm64' if platform.machine() in ('aarch64', 'arm64') else 'x64'}"
