"""The blob store: large values, content-addressed by SHA-256, laid out by retention class and day.

A reference reads `long/2026-11-29/sha256:<64 hex digits>`: it names the content, and it says where the blob lies and
until when it is kept. The same content put on another day is another blob, so that deleting a class's old days never
takes away what a newer record refers to.
"""

import asyncio
import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import zstandard

from odradek_runtime.faults import reach

RETENTION_CLASSES = ("days", "long")

_REFERENCE = re.compile(
    rf"(?P<retention>{'|'.join(RETENTION_CLASSES)})/(?P<day>\d{{4}}-\d\d-\d\d)/sha256:(?P<digest>[0-9a-f]{{64}})"
)
READ_AND_WRITE = 0o666
_BLOB_URI = "blob:"


class BlobError(Exception):
    """A blob can't be had; the message says why."""


class BlobNotFound(BlobError):
    """There is no such blob, or the reference is not one."""


class BlobDamaged(BlobError):
    """The blob is there, and is not what its reference says."""


class BadBlobStoreUri(ValueError):
    """The URI does not name a blob store that this build can open."""


class BlobStore(Protocol):
    """Where large values lie. Both calls stay off the event loop."""

    async def put(self, data: bytes, retention: str = "long") -> str:
        """Store `data` durably and return its reference. Storing it again the same day changes nothing.

        Raises:
            ValueError: `retention` is not one of `RETENTION_CLASSES`.
        """

    async def get(self, reference: str) -> bytes:
        """Return the content of a blob.

        Raises:
            BlobNotFound: there is no such blob.
            BlobDamaged: its content does not have the hash that the reference says.
        """


def open_blob_store(uri: str) -> BlobStore:
    """Open the store that `uri` names: `file:///an/absolute/folder`, created at the first put.

    Raises:
        BadBlobStoreUri: another scheme, or no absolute path.
    """
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        raise BadBlobStoreUri(f"blob store {uri!r}: this build has the file store only; use file:///folder")
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise BadBlobStoreUri(f"blob store {uri!r}: expected file:///an/absolute/folder")
    return FileBlobStore(Path(unquote(parts.path)))


def blob_uri(reference: str) -> str:
    """The URI by which a data set names a blob."""
    return f"{_BLOB_URI}{reference}"


def reference_of(uri: str) -> str | None:
    """The reference in a `blob:` URI; None for any other URI."""
    return uri.removeprefix(_BLOB_URI) if uri.startswith(_BLOB_URI) else None


class FileBlobStore:
    """Blobs as zstd files in a folder: `<retention>/<day>/<first two hex digits>/<hex>.zst`.

    What is in it has the folder's own permissions (of files: less execution), so that writers of several users may
    share it: containers and people, say.
    """

    def __init__(self, folder: Path, today: Callable[[], str] | None = None) -> None:
        self._folder = folder
        self._today = today or _today

    async def put(self, data: bytes, retention: str = "long") -> str:
        if retention not in RETENTION_CLASSES:
            raise ValueError(f"retention {retention!r}: use one of {', '.join(RETENTION_CLASSES)}")
        return await asyncio.to_thread(self._put, data, retention)

    async def get(self, reference: str) -> bytes:
        return await asyncio.to_thread(self._get, reference)

    def _put(self, data: bytes, retention: str) -> str:
        reference = f"{retention}/{self._today()}/sha256:{hashlib.sha256(data).hexdigest()}"
        path = self._path(reference)
        if not path.exists():
            _make_folder(path.parent, self._folder)
            _write_atomically(path, zstandard.ZstdCompressor().compress(data))
        return reference

    def _get(self, reference: str) -> bytes:
        try:
            packed = self._path(reference).read_bytes()
        except FileNotFoundError as error:
            raise BlobNotFound(f"blob {reference} is not in {self._folder}") from error
        return _unpack(packed, reference)

    def _path(self, reference: str) -> Path:
        match = _REFERENCE.fullmatch(reference)
        if match is None:
            raise BlobNotFound(f"{reference!r} is not a blob reference (class/day/sha256:hex)")
        digest = match["digest"]
        return self._folder / match["retention"] / match["day"] / digest[:2] / f"{digest}.zst"


def _unpack(packed: bytes, reference: str) -> bytes:
    """Decompress without trust in the frame's header; a cut frame gives less data, which the hash reveals."""
    try:
        data = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise BlobDamaged(f"blob {reference} can't be decompressed: {error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != reference.rpartition(":")[2]:
        raise BlobDamaged(f"blob {reference} has the hash sha256:{found}")
    return data


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


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
