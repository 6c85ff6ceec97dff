"""Blobs as objects of an S3 bucket, or of whatever speaks its protocol.

Endpoint, region, credentials and proxies are found as boto3 finds them: `AWS_ENDPOINT_URL_S3`, `AWS_DEFAULT_REGION`, the
environment, `~/.aws`, the container's or the machine's role. Encryption at rest is the bucket's own default.
"""

import asyncio
import base64
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from urllib3.exceptions import HTTPError

from odradek_runtime.blobs.errors import BadBlobStoreUri, BlobNotFound, StoreUnavailable
from odradek_runtime.blobs.packing import pack, unpack
from odradek_runtime.blobs.references import check_retention, folder_of, is_day, place_of, reference_to, today
from odradek_runtime.blobs.s3_errors import code_of, explained
from odradek_runtime.blobs.store import Deleted
from odradek_runtime.faults import reach

CONNECT_SECONDS = 2.0
READ_SECONDS = 5.0
"""Silence in an answer, after which a try has failed."""
TRIES = 3
"""Of one request, with pauses of a second or two; of an object that came in half, too."""
CALL_SECONDS = 25.0
"""Deadline of a call: for all its tries. Content is given more time by its size."""
LEAST_BYTES_PER_SECOND = 1 << 20
THREADS = 16
"""Calls at once, and connections."""

_ABSENT = ("NoSuchKey", "404", "NotFound")
_UNCONDITIONAL = ("ConditionalRequestConflict", "NotImplemented")

T = TypeVar("T")


class S3BlobStore:
    """Blobs as zstd objects `<prefix>/<retention>/<day>/<first two hex digits>/<hex>.zst` of one bucket.

    boto3 is synchronous: its calls run in a few threads of the store's own.
    """

    def __init__(self, bucket: str, prefix: str = "", today: Callable[[], str] = today) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self._name = f"s3://{bucket}/{prefix}".rstrip("/")
        self._today = today
        self._client = _client(self._name)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="blobs")

    async def put(self, data: bytes, retention: str = "long") -> str:
        check_retention(retention)
        return await self._within(seconds_for(len(data)), partial(self._put, data, retention))

    async def get(self, reference: str) -> bytes:
        key = self._key(reference)
        for _ in range(TRIES - 1):
            try:
                return await self._get(key, reference)
            except CutShort:
                continue
        return await self._get(key, reference)

    async def check(self) -> None:
        await self._within(CALL_SECONDS, partial(self._page, self._prefix, MaxKeys=1))

    async def days(self, retention: str) -> list[str]:
        check_retention(retention)
        above = f"{self._prefix}{retention}/"
        found: list[str] = []
        token: dict[str, str] | None = {}
        while token is not None:
            page = await self._within(CALL_SECONDS, partial(self._page, above, Delimiter="/", **token))
            names = [
                each["Prefix"].removeprefix(above).rstrip("/") for each in page.get("CommonPrefixes", [])
            ]
            found.extend(filter(is_day, names))
            token = _next(page)
        return sorted(found)

    async def delete_day(self, retention: str, day: str, dry_run: bool = False) -> Deleted:
        above = f"{self._prefix}{folder_of(retention, day)}/"
        deleted = Deleted(0, 0)
        token: dict[str, str] | None = {}
        while token is not None:
            page = await self._within(CALL_SECONDS, partial(self._page, above, **token))
            objects = page.get("Contents", [])
            if objects and not dry_run:
                await self._within(CALL_SECONDS, partial(self._delete, [each["Key"] for each in objects]))
            deleted += Deleted(len(objects), sum(each["Size"] for each in objects))
            token = _next(page)
        return deleted

    def _put(self, data: bytes, retention: str) -> str:
        reference = reference_to(data, retention, self._today())
        key, packed = self._key(reference), pack(data)
        reach("blob.writing")
        try:
            self._write(key, packed, IfNoneMatch="*")
        except ClientError as error:
            if code_of(error) == "PreconditionFailed":
                return reference
            if code_of(error) not in _UNCONDITIONAL:
                raise
            self._write(key, packed)  # whoever wrote it as well wrote the same bytes
        return reference

    def _write(self, key: str, packed: bytes, **condition: str) -> None:
        """The server compares the hash before it takes the object: what lies there is whole."""
        self._client.put_object(
            Bucket=self._bucket,
            Key=key,
            Body=packed,
            ContentType="application/zstd",
            ChecksumSHA256=base64.b64encode(hashlib.sha256(packed).digest()).decode(),
            **condition,
        )

    async def _get(self, key: str, reference: str) -> bytes:
        answer = await self._within(CALL_SECONDS, partial(self._open, key, reference))
        with closing(answer["Body"]) as body:
            return await self._within(
                seconds_for(answer["ContentLength"]), partial(self._read, body, reference)
            )

    def _open(self, key: str, reference: str) -> Any:
        try:
            return self._client.get_object(Bucket=self._bucket, Key=key)
        except ClientError as error:
            if code_of(error) in _ABSENT or (code_of(error) == "AccessDenied" and self._absent(key)):
                raise BlobNotFound(f"blob {reference} is not in {self._name}") from error
            raise

    def _absent(self, key: str) -> bool:
        """Access is also denied to what is not there, where listing is allowed below a prefix alone."""
        return not self._page(key, MaxKeys=1).get("Contents")

    def _read(self, body: Any, reference: str) -> bytes:
        try:
            packed = body.read()
        except (BotoCoreError, HTTPError) as error:
            raise CutShort(f"blob store {self._name}: {reference} was cut short") from error
        return unpack(packed, reference)

    def _page(self, prefix: str, **options: Any) -> Any:
        return self._client.list_objects_v2(Bucket=self._bucket, Prefix=prefix, **options)

    def _delete(self, keys: list[str]) -> None:
        asked = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        answer = self._client.delete_objects(Bucket=self._bucket, Delete=asked)
        for each in answer.get("Errors", []):
            raise ClientError({"Error": each}, "DeleteObjects")

    def _key(self, reference: str) -> str:
        return self._prefix + place_of(reference)

    async def _within(self, seconds: float, work: Callable[[], T]) -> T:
        """Do `work` in a thread. One that takes too long is left behind: its own waits end it."""
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (BotoCoreError, ClientError) as error:
            raise explained(self._name, error) from error
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise StoreUnavailable(f"blob store {self._name}: no answer within {seconds:g} s") from error


class CutShort(StoreUnavailable):
    """An object did not come whole."""


def seconds_for(size: int) -> float:
    """The deadline of moving `size` bytes."""
    return CALL_SECONDS + size // LEAST_BYTES_PER_SECOND


def _client(name: str) -> Any:
    """A client of the store's own; boto3's default session is not for threads.

    Checksums only where the protocol asks for them: servers other than Amazon's don't know the newer ones.
    """
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": TRIES},
        max_pool_connections=THREADS,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        return boto3.session.Session().client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise BadBlobStoreUri(str(explained(name, error))) from error


def _next(page: Any) -> dict[str, str] | None:
    """How the next page is asked for; None: there is none."""
    return {"ContinuationToken": page["NextContinuationToken"]} if page.get("IsTruncated") else None
