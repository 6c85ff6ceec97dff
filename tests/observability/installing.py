"""Prometheus and promtool: those on the path, or Debian's package unpacked in a cache (no root is needed)."""

import shutil
import subprocess
from pathlib import Path

from tests.support import cache

UNPACK_SECONDS = 300
PACKAGE = "prometheus"
PROGRAMS = ("prometheus", "promtool")


def folder() -> Path:
    return cache.folder("prometheus", PACKAGE)


def program(name: str) -> Path | None:
    """Where a program is; None: nowhere yet."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    unpacked = folder() / "usr" / "bin" / name
    return unpacked if cache.is_filled(folder()) and unpacked.exists() else None


def install() -> None:
    """See to it that both are there.

    Raises:
        RuntimeError: they are not on the path, and this is no Debian.
    """
    if all(program(name) for name in PROGRAMS):
        return
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise RuntimeError(
            "prometheus and promtool are not on the PATH, and there is no apt-get to get Debian's package with: "
            "unpack a release of Prometheus and put its folder on the PATH"
        )
    with cache.filling(folder()):
        _do(["apt-get", "--quiet", "download", PACKAGE])
        (package,) = folder().glob("*.deb")
        _do(["dpkg-deb", "--extract", package.name, "."])
        package.unlink()


def _do(command: list[str]) -> None:
    subprocess.run(command, cwd=folder(), timeout=UNPACK_SECONDS, check=True, stdout=subprocess.DEVNULL)
