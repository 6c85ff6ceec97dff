"""What a blob store does, wherever it lies."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took away; `size` is in bytes as they lay in the store, compressed."""

    blobs: int
    size: int

    def __add__(self, other: "Deleted") -> "Deleted":
        return Deleted(self.blobs + other.blobs, self.size + other.size)


class BlobStore(Protocol):
    """Where large values lie. No call holds up the event loop, and none waits for ever."""

    async def put(self, data: bytes, retention: str = "long") -> str:
        """Store `data` durably and return its reference. Storing it again the same day changes nothing.

        Raises:
            ValueError: `retention` is not one of `RETENTION_CLASSES`.
            StoreUnavailable: the store did not take it.
        """

    async def get(self, reference: str) -> bytes:
        """Return the content of a blob.

        Raises:
            BlobNotFound: there is no such blob.
            BlobDamaged: its content does not have the hash that the reference says.
            StoreUnavailable: whether there is one can't be told.
        """


class KeptBlobs(BlobStore, Protocol):
    """A store with what its keepers need."""

    async def check(self) -> None:
        """See that the store is there and may be used.

        Raises:
            StoreRefused: a person must act.
            StoreUnavailable: it can't be told now.
        """

    async def days(self, retention: str) -> list[str]:
        """The days (ISO 8601) of which the store has blobs of a retention class, oldest first.

        Raises:
            StoreUnavailable: they can't be listed.
        """

    async def delete_day(self, retention: str, day: str, dry_run: bool = False) -> Deleted:
        """Delete all blobs of a class and a day; `dry_run`: only say how many they are. One that is cut short may be
        repeated.

        Raises:
            StoreUnavailable: not all could be deleted.
        """
