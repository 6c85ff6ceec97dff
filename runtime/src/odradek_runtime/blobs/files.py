"""Blobs as files."""

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

from odradek_runtime.blobs.errors import BlobNotFound, StoreRefused, StoreUnavailable
from odradek_runtime.blobs.packing import pack, unpack
from odradek_runtime.blobs.references import check_retention, folder_of, is_day, place_of, reference_to, today
from odradek_runtime.blobs.store import Deleted
from odradek_runtime.faults import reach

READ_AND_WRITE = 0o666


class FileBlobStore:
    """Blobs as zstd files in a folder.

    What is in it has the folder's own permissions (of files: less execution), so that writers of several users may
    share it: containers and people, say.
    """

    def __init__(self, folder: Path, today: Callable[[], str] = today) -> None:
        self._folder = folder
        self._today = today

    async def put(self, data: bytes, retention: str = "long") -> str:
        return await asyncio.to_thread(self._put, data, retention)

    async def get(self, reference: str) -> bytes:
        return await asyncio.to_thread(self._get, reference)

    async def check(self) -> None:
        await asyncio.to_thread(self._check)

    async def days(self, retention: str) -> list[str]:
        check_retention(retention)
        return await asyncio.to_thread(self._days, retention)

    async def delete_day(self, retention: str, day: str, dry_run: bool = False) -> Deleted:
        return await asyncio.to_thread(self._delete, self._folder / folder_of(retention, day), dry_run)

    def _put(self, data: bytes, retention: str) -> str:
        reference = reference_to(data, retention, self._today())
        path = self._path(reference)
        with self._telling():
            if not path.exists():
                _make_folder(path.parent, self._folder)
                _write_atomically(path, pack(data))
        return reference

    def _get(self, reference: str) -> bytes:
        path = self._path(reference)
        with self._telling():
            try:
                packed = path.read_bytes()
            except FileNotFoundError as error:
                raise BlobNotFound(f"blob {reference} is not in {self._folder}") from error
        return unpack(packed, reference)

    def _check(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreRefused(
                f"{self._told(error)}: ODRADEK_BLOB_STORE must name a folder that can be made"
            ) from error
        if not os.access(self._folder, os.R_OK | os.W_OK | os.X_OK):
            raise StoreRefused(
                f"blob store {self._folder}: it may not be written to: give it to uid {os.getuid()}, or name another "
                "in ODRADEK_BLOB_STORE"
            )

    def _days(self, retention: str) -> list[str]:
        with self._telling():
            folder = self._folder / retention
            return (
                sorted(path.name for path in folder.iterdir() if is_day(path.name)) if folder.exists() else []
            )

    def _delete(self, folder: Path, dry_run: bool) -> Deleted:
        with self._telling():
            sizes = [path.stat().st_size for path in folder.rglob("*.zst")]
            if not dry_run and folder.exists():
                shutil.rmtree(folder)
            return Deleted(len(sizes), sum(sizes))

    def _path(self, reference: str) -> Path:
        return self._folder / place_of(reference)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What the system says of files is the store's failure, whichever it is."""
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(self._told(error)) from error

    def _told(self, error: OSError) -> str:
        return f"blob store {self._folder}: {error.strerror or error}"


def _write_atomically(path: Path, content: bytes) -> None:
    """The file appears whole and on the disk, or not at all. Two writers of one blob write the same bytes."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, _permissions(path.parent) & READ_AND_WRITE)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        reach("blob.writing")
        os.replace(partial, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise
    _sync_folder(path.parent)


def _make_folder(folder: Path, root: Path) -> None:
    """Make `folder` so that a power cut can't take its name away: each folder above it is synced, up to `root`."""
    if folder.exists():
        return
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = folder.relative_to(root).parts
    for parent, name in zip(accumulate(names, Path.joinpath, initial=root), names, strict=False):
        if not (parent / name).exists():
            _make_one_folder(parent, name)
        _sync_folder(parent)


def _make_one_folder(parent: Path, name: str) -> None:
    """It appears with its parent's permissions: who may write blobs there may do so in all folders below."""
    made = tempfile.mkdtemp(dir=parent, prefix=".partial-")
    os.chmod(made, _permissions(parent))
    try:
        os.rename(made, parent / name)
    except OSError:
        os.rmdir(made)
        if not (parent / name).is_dir():  # else another writer was first
            raise


def _permissions(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
