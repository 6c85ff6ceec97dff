"""References: which blob, from which day and in which retention class; and where it lies in any store."""

import hashlib
import re
from datetime import UTC, date, datetime

from odradek_runtime.blobs.errors import BlobNotFound

RETENTION_CLASSES = ("days", "long")

_REFERENCE = re.compile(
    rf"(?P<retention>{'|'.join(RETENTION_CLASSES)})/(?P<day>\d{{4}}-\d\d-\d\d)/sha256:(?P<digest>[0-9a-f]{{64}})"
)
_BLOB_URI = "blob:"


def blob_uri(reference: str) -> str:
    """The URI by which a data set names a blob."""
    return f"{_BLOB_URI}{reference}"


def reference_of(uri: str) -> str | None:
    """The reference in a `blob:` URI; None for any other URI."""
    return uri.removeprefix(_BLOB_URI) if uri.startswith(_BLOB_URI) else None


def reference_to(data: bytes, retention: str, day: str) -> str:
    """The reference of `data` put on `day` (ISO 8601).

    Raises:
        ValueError: `retention` is not one of `RETENTION_CLASSES`.
    """
    check_retention(retention)
    return f"{retention}/{day}/sha256:{hashlib.sha256(data).hexdigest()}"


def check_retention(retention: str) -> None:
    """Raises ValueError: `retention` is not one of `RETENTION_CLASSES`."""
    if retention not in RETENTION_CLASSES:
        raise ValueError(f"retention {retention!r}: use one of {', '.join(RETENTION_CLASSES)}")


def place_of(reference: str) -> str:
    """Where a blob lies below a store's root: `<retention>/<day>/<first two hex digits>/<hex>.zst`.

    Raises:
        BlobNotFound: `reference` is not one.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise BlobNotFound(f"{reference!r} is not a blob reference (class/day/sha256:hex)")
    digest = match["digest"]
    return f"{match['retention']}/{match['day']}/{digest[:2]}/{digest}.zst"


def folder_of(retention: str, day: str) -> str:
    """Where a day's blobs lie below a store's root.

    Raises:
        ValueError: it is no class, or no day.
    """
    check_retention(retention)
    if not is_day(day):
        raise ValueError(f"{day!r} is not a day (YYYY-MM-DD)")
    return f"{retention}/{day}"


def is_day(name: str) -> bool:
    """Whether a folder below a retention class is a day's: nothing else there is ours."""
    try:
        return date.fromisoformat(name).isoformat() == name
    except ValueError:
        return False


def today() -> str:
    return datetime.now(UTC).date().isoformat()
