"""A blob store whose calls are timed and whose errors are counted."""

import time
from collections.abc import Awaitable
from typing import TypeVar

from odradek_runtime.blobs import BlobStore
from odradek_runtime.metrics import Metrics

_T = TypeVar("_T")


class MeasuredBlobStore:
    """Implements `odradek_runtime.blobs.BlobStore` by another one."""

    def __init__(self, blobs: BlobStore, metrics: Metrics) -> None:
        self._blobs = blobs
        self._metrics = metrics

    async def put(self, data: bytes, retention: str = "long") -> str:
        return await self._timed("put", self._blobs.put(data, retention))

    async def get(self, reference: str) -> bytes:
        return await self._timed("get", self._blobs.get(reference))

    async def _timed(self, call: str, work: Awaitable[_T]) -> _T:
        began = time.perf_counter()
        try:
            return await work
        except Exception as error:
            self._metrics.blob_errors.labels(call, type(error).__name__).inc()
            raise
        finally:
            self._metrics.blob_seconds.labels(call).observe(time.perf_counter() - began)
