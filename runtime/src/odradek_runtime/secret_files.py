"""Files that hold secrets."""

import os
from pathlib import Path


def is_filled(path: Path) -> bool:
    """Whether something is there that must not be written over; an empty file is nothing."""
    return path.exists() and not (path.is_file() and path.stat().st_size == 0)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that its owner alone can read, and its folders. What is there is never written over.

    Raises:
        OSError: something is there (FileExistsError), or it can't be written; no half of it stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists() and not is_filled(path):
        path.unlink()
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
