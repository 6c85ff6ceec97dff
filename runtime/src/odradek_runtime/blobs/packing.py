"""The bytes of a blob as they lie in a store: one zstd frame (RFC 8878)."""

import hashlib

import zstandard

from odradek_runtime.blobs.errors import BlobDamaged


def pack(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def unpack(packed: bytes, reference: str) -> bytes:
    """Decompress without trust in the frame's header; a cut frame gives less data, which the hash reveals.

    Raises:
        BlobDamaged: it is not what `reference` says.
    """
    try:
        data = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise BlobDamaged(f"blob {reference} can't be decompressed: {error}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != reference.rpartition(":")[2]:
        raise BlobDamaged(f"blob {reference} has the hash sha256:{found}")
    return data
