"""A program's private home: made for one run, and removed after it."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import structlog

from odradek.programs.launching import TEMPORARY
from odradek.programs.reading import MOST_OF_FILE

log = structlog.get_logger()

_PREFIX = "odradek-home-"


class Home:
    """A new folder that only this user can enter."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        (self.path / TEMPORARY).mkdir(mode=0o700)

    def write(self, files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(content)

    def read(self, names: Iterable[str]) -> dict[str, str]:
        """The ends of those files that are there."""
        found = {name: self._read(name) for name in set(names)}
        return {name: text for name, text in found.items() if text is not None}

    def remove(self) -> None:
        """Remove it with all that is in it, folders that were closed to their owner included."""
        self.path.chmod(stat.S_IRWXU)
        for folder, names, _files in os.walk(self.path):
            for path in (Path(folder, name) for name in names):
                if not path.is_symlink():
                    path.chmod(stat.S_IRWXU)
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():
            log.warning("a program's home can't be removed", path=str(self.path))

    def _read(self, name: str) -> str | None:
        """The program may have put anything there: a link out of its home, or a pipe that nobody writes to."""
        path = (self.path / name).resolve()
        if not path.is_relative_to(self.path):
            return None
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return None
            file.seek(max(0, about.st_size - MOST_OF_FILE))
            return file.read(MOST_OF_FILE).decode(errors="replace")
