"""The blob store: large values, content-addressed by SHA-256, laid out by retention class and day.

A reference reads `long/2026-11-29/sha256:<64 hex digits>`: it names the content, and it says where the blob lies and
until when it is kept. The same content put on another day is another blob, so that deleting a class's old days never
takes away what a newer record refers to.
"""

from odradek_runtime.blobs.errors import (
    BadBlobStoreUri,
    BlobDamaged,
    BlobError,
    BlobNotFound,
    StoreRefused,
    StoreUnavailable,
)
from odradek_runtime.blobs.files import FileBlobStore
from odradek_runtime.blobs.opening import open_blob_store
from odradek_runtime.blobs.references import RETENTION_CLASSES, blob_uri, reference_of
from odradek_runtime.blobs.store import BlobStore, Deleted, KeptBlobs

__all__ = [
    "RETENTION_CLASSES",
    "BadBlobStoreUri",
    "BlobDamaged",
    "BlobError",
    "BlobNotFound",
    "BlobStore",
    "Deleted",
    "FileBlobStore",
    "KeptBlobs",
    "StoreRefused",
    "StoreUnavailable",
    "blob_uri",
    "open_blob_store",
    "reference_of",
]
