"""What tests install once: folders in the user's cache, each named for what was asked for."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILLED = "installed"


def folder(name: str, asked: str) -> Path:
    """The folder of what was `asked` for; another one when something else is."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "odradek" / f"{name}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


def is_filled(folder: Path) -> bool:
    return (folder / FILLED).exists()


@contextmanager
def filling(folder: Path) -> Iterator[None]:
    """Begin with an empty folder; it counts as filled when all went well."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    yield
    (folder / FILLED).touch()
