"""What the tests need beside this repository: a Docker daemon, Compose, and images to build on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import cache

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "locks" / "docker.txt"
PULLED = {"BASE": "python:3.12-slim", "KAFKA": "apache/kafka:4.2.1", "VALKEY": "valkey/valkey:9-alpine"}
"""The images that docker-compose.yml takes from a registry."""

OWN_BASE = "odradek/debian-python:local"
ASK_SECONDS = 60
PULL_SECONDS = 300
MAKE_SECONDS = 900


class NoDocker(Exception):
    """The tests can't be run here; one line: what is missing, and what to do."""


def prepare() -> dict[str, str]:
    """See that all is there, and return the variables by which the tests find it.

    Raises:
        NoDocker: there is no daemon, or no image to build on can be had.
    """
    if not _works(["docker", "version"], ASK_SECONDS):
        raise NoDocker("no Docker daemon answers: install one (Debian: apt install docker.io) and start it")
    variables = {} if _works(["docker", "compose", "version"], ASK_SECONDS) else _with_compose()
    return variables | _images()


def _with_compose() -> dict[str, str]:
    """Docker's own plugin out of a wheel, beside the configuration that the user has."""
    folder = cache.folder("docker-compose", LOCK.read_text())
    if not cache.is_filled(folder):
        with cache.filling(folder):
            _install_compose(folder)
    return {"DOCKER_CONFIG": str(folder / "config")}


def _install_compose(folder: Path) -> None:
    uv = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-config"]
    subprocess.run([*uv, "venv", str(folder / "venv")], check=True, timeout=MAKE_SECONDS)
    install = ["pip", "install", "--python", str(folder / "venv"), "--require-hashes", "--requirement"]
    subprocess.run([*uv, *install, str(LOCK)], check=True, timeout=MAKE_SECONDS)
    [program] = folder.glob("venv/lib/*/site-packages/compose/docker-compose")
    plugins = folder / "config" / "cli-plugins"
    plugins.mkdir(parents=True)
    (plugins / "docker-compose").symlink_to(program)
    own = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"
    if own.exists():
        shutil.copy(own, folder / "config" / "config.json")


def _images() -> dict[str, str]:
    """Where the images of a registry can be had they are tried; else all are made here."""
    if all(map(_at_hand, PULLED.values())):
        return {}
    if not _works(["docker", "image", "inspect", OWN_BASE], ASK_SECONDS):
        _make_base()
    return {"ODRADEK_BASE_IMAGE": OWN_BASE, "ODRADEK_TEST_REGISTRY": "no"}


def _at_hand(image: str) -> bool:
    there = _works(["docker", "image", "inspect", image], ASK_SECONDS)
    return there or _works(["docker", "pull", "--quiet", image], PULL_SECONDS)


def _make_base() -> None:
    print(f"no registry answers: making {OWN_BASE} of Debian packages", flush=True)
    try:
        subprocess.run([str(ROOT / "deploy/docker/base.sh"), OWN_BASE], check=True, timeout=MAKE_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        raise NoDocker(f"no registry answers, and deploy/docker/base.sh failed: {error}") from error


def _works(command: list[str], seconds: float) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=seconds, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
