"""The kinds of blob store, as tests see them: one contract, and a way to look behind each."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from odradek_runtime.blobs import FileBlobStore, KeptBlobs
from odradek_runtime.blobs.references import today
from odradek_runtime.blobs.s3 import S3BlobStore
from tests.support.s3 import S3Server


class Shelf(Protocol):
    """Where a store's blobs lie, by their names below its root."""

    uri: str

    def store(self, today: Callable[[], str] = today) -> KeptBlobs:
        """A store, on a day of one's choice."""

    def blobs(self) -> dict[str, bytes]: ...

    def write(self, name: str, content: bytes) -> None: ...


class Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.uri = folder.as_uri()

    def store(self, today: Callable[[], str] = today) -> KeptBlobs:
        return FileBlobStore(self._folder, today)

    def blobs(self) -> dict[str, bytes]:
        files = [path for path in self._folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(self._folder)): path.read_bytes() for path in files}

    def write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Bucket:
    def __init__(self, server: S3Server, name: str, prefix: str = "some where") -> None:
        self._server, self._name, self._prefix = server, server.make_bucket(name), prefix
        self.uri = f"s3://{name}/{prefix.replace(' ', '%20')}/"

    def store(self, today: Callable[[], str] = today) -> KeptBlobs:
        return S3BlobStore(self._name, self._prefix, today)

    def blobs(self) -> dict[str, bytes]:
        objects = self._server.objects(self._name)
        return {key.removeprefix(f"{self._prefix}/"): content for key, content in objects.items()}

    def write(self, name: str, content: bytes) -> None:
        self._server.client.put_object(Bucket=self._name, Key=f"{self._prefix}/{name}", Body=content)
