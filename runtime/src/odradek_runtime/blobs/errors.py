"""What can go wrong with blobs: with one of them, with the store, or with its name."""


class BlobError(Exception):
    """A blob can't be had; the message says why."""


class BlobNotFound(BlobError):
    """There is no such blob, or the reference is not one."""


class BlobDamaged(BlobError):
    """The blob is there, and is not what its reference says."""


class StoreUnavailable(OSError):
    """The store does not answer, or does not take or give what it should: no blob is to blame. It may be better soon."""


class StoreRefused(StoreUnavailable):
    """The store won't do it until a person acts; the message says what to do. It never holds a secret."""


class BadBlobStoreUri(ValueError):
    """The URI does not name a blob store that can be opened here."""
