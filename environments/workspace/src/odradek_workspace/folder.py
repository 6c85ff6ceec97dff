"""Text files in a folder, written and read back."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

MOST_BYTES = 1 << 20
"""Of all files together."""


def checked(path: str) -> str:
    """`path`, which must lie beneath the folder.

    Raises:
        ValueError: it is absolute, empty, or leads out of the folder.
    """
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in path:
        raise ValueError(f"{path!r} must be a path beneath the folder, such as notes/today.txt")
    return str(PurePosixPath(path))


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / checked(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(folder: Path) -> tuple[dict[str, str], list[str]]:
    """All text files by relative path, the smallest first until there is no more room; and the names of the others."""
    sizes = sorted((path.stat().st_size, str(path.relative_to(folder))) for path in _files(folder))
    files: dict[str, str] = {}
    left_out: list[str] = []
    room = MOST_BYTES
    for size, name in sizes:
        text = _text(folder / name) if size <= room else None
        if text is None:
            left_out.append(name)
        else:
            files[name] = text
            room -= size
    return dict(sorted(files.items())), sorted(left_out)


def _files(folder: Path) -> Iterator[Path]:
    """Plain files, not those in hidden folders: a program's caches and a repository's own are no work."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent, name) for name in names)
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
