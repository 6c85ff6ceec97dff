"""From a URI to the store that it names."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from odradek_runtime.blobs.errors import BadBlobStoreUri
from odradek_runtime.blobs.files import FileBlobStore
from odradek_runtime.blobs.store import KeptBlobs

_EXPECTED = "expected file:///an/absolute/folder or s3://bucket/prefix"


def open_blob_store(uri: str) -> KeptBlobs:
    """Open the store that `uri` names: `file:///an/absolute/folder`, created at the first put, or
    `s3://bucket/prefix`, where the bucket must be there. Nobody is asked anything yet.

    Raises:
        BadBlobStoreUri: it names none, or S3's client is not installed.
    """
    parts = urlsplit(uri)
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise BadBlobStoreUri(
            f"blob store {_bare(uri)!r}: {_EXPECTED}, and nothing else: no credentials, no options"
        )
    if parts.scheme == "s3" and parts.netloc:
        return _open_s3(parts.netloc, unquote(parts.path).strip("/"))
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        return FileBlobStore(Path(unquote(parts.path)))
    raise BadBlobStoreUri(f"blob store {uri!r}: {_EXPECTED}")


def _open_s3(bucket: str, prefix: str) -> KeptBlobs:
    """Only who uses S3 loads its client: that takes a third of a second, and 25 MB on the disk."""
    try:
        from odradek_runtime.blobs.s3 import S3BlobStore
    except ModuleNotFoundError as error:
        raise BadBlobStoreUri(
            f"blob store s3://{bucket}: boto3 is not installed: pip install 'odradek-runtime[s3]'"
        ) from error
    return S3BlobStore(bucket, prefix)


def _bare(uri: str) -> str:
    """The URI without what may be a secret."""
    return (
        urlsplit(uri)._replace(netloc=urlsplit(uri).netloc.rpartition("@")[2], query="", fragment="").geturl()
    )
