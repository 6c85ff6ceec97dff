"""What S3 does besides keeping: it is away, slow, broken, closed to us, or somebody else's."""

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Callable

import pytest
from blob_lab import Bucket
from werkzeug.wrappers import Request, Response

from odradek_runtime.blobs import (
    BadBlobStoreUri,
    BlobNotFound,
    KeptBlobs,
    StoreRefused,
    StoreUnavailable,
    open_blob_store,
)
from odradek_runtime.blobs import (
    s3 as s3_store,
)
from tests.support.s3 import SECRET_KEY, S3Server, refusal, s3_server, times

NONE_SUCH = "long/2026-11-29/sha256:" + "0" * 64


@pytest.fixture
def bucket(s3: S3Server) -> Bucket:
    return Bucket(s3, f"faults-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def store(bucket: Bucket) -> KeptBlobs:
    return open_blob_store(bucket.uri)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)


def broken() -> Response:
    return refusal(503, "SlowDown")


async def test_a_bucket_that_fails_for_a_moment_is_asked_again(
    s3: S3Server, store: KeptBlobs, hasty: None
) -> None:
    s3.fault = times(2, broken)
    reference = await store.put(b"thread")
    s3.fault = times(2, broken)
    assert await store.get(reference) == b"thread"


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_and_not_for_ever(s3: S3Server, store: KeptBlobs, hasty: None, status: int) -> None:
    asked: list[str] = []

    def fault(request: Request) -> Response:
        asked.append(request.method)
        return refusal(status, "InternalError")

    s3.fault = fault
    for doing in (store.put(b"thread"), store.get(NONE_SUCH), store.check(), store.days("long")):
        with pytest.raises(StoreUnavailable, match=f"{status} InternalError") as failed:
            await doing
        assert not isinstance(failed.value, StoreRefused)
    assert len(asked) == 4 * s3_store.TRIES


async def test_a_server_that_is_away_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, store: KeptBlobs, hasty: None
) -> None:
    """Caught: the client's own errors, which no caller knows."""
    with s3_server() as gone:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", gone.url)
        elsewhere = open_blob_store("s3://bucket/blobs")
    for doing in (elsewhere.put(b"thread"), elsewhere.get(NONE_SUCH), elsewhere.check()):
        with pytest.raises(StoreUnavailable, match=f"blob store s3://bucket/blobs: .*{gone.port}") as failed:
            await doing
        assert not isinstance(failed.value, StoreRefused), "it may be back soon"


async def test_a_server_that_says_nothing_is_not_waited_for(
    s3: S3Server, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    monkeypatch.setattr(s3_store, "READ_SECONDS", 0.2)
    store = bucket.store()
    s3.fault = stand_still(2.0)
    with pytest.raises(StoreUnavailable, match=r"[Rr]ead timeout"):
        await store.put(b"thread")


async def test_a_call_ends_at_its_deadline_whatever_the_server_does(
    s3: S3Server, store: KeptBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_store, "CALL_SECONDS", 0.1)
    s3.fault = stand_still(1.0)
    with pytest.raises(StoreUnavailable, match=r"no answer within 0\.1 s"):
        await store.get(NONE_SUCH)


def stand_still(seconds: float) -> Callable[[Request], Response]:
    def fault(_request: Request) -> Response:
        time.sleep(seconds)
        return broken()

    return fault


async def test_an_object_that_comes_in_half_is_fetched_again(s3: S3Server, store: KeptBlobs) -> None:
    """Caught: a cut connection taken for a damaged blob, which would end a rollout."""
    data = os.urandom(50_000)
    reference = await store.put(data)
    s3.fault = times(2, half, "GET")
    assert await store.get(reference) == data
    s3.fault = times(100, half, "GET")
    with pytest.raises(StoreUnavailable, match="cut short"):
        await store.get(reference)


def half() -> Response:
    """Says more than it sends."""
    return Response([b"x" * 100], headers={"Content-Length": "50000"})


async def test_a_store_that_knows_no_conditions_keeps_blobs_too(
    s3: S3Server, bucket: Bucket, store: KeptBlobs
) -> None:
    def fault(request: Request) -> Response | None:
        return refusal(501, "NotImplemented") if "If-None-Match" in request.headers else None

    s3.fault = fault
    assert await store.get(await store.put(b"thread")) == b"thread"
    assert await store.put(b"thread")
    assert len(bucket.blobs()) == 1


async def test_two_who_write_the_same_at_once_both_succeed(
    s3: S3Server, bucket: Bucket, store: KeptBlobs
) -> None:
    s3.fault = times(1, lambda: refusal(409, "ConditionalRequestConflict"), "PUT")
    assert await store.get(await store.put(b"thread")) == b"thread"


async def test_a_write_whose_answer_was_lost_is_not_a_failure(
    s3: S3Server, store: KeptBlobs, hasty: None
) -> None:
    """The try after it finds the blob there, and that is well."""
    await store.put(b"thread")
    s3.fault = times(1, broken)
    assert await store.put(b"thread")


async def test_what_is_missing_is_told_from_a_missing_bucket(store: KeptBlobs, s3: S3Server) -> None:
    with pytest.raises(BlobNotFound, match=NONE_SUCH):
        await store.get(NONE_SUCH)
    nowhere = open_blob_store("s3://no-such-bucket")
    for doing in (nowhere.get(NONE_SUCH), nowhere.put(b"x"), nowhere.check(), nowhere.days("days")):
        with pytest.raises(StoreRefused, match="s3://no-such-bucket: there is no such bucket: create it"):
            await doing


async def test_what_is_missing_is_told_from_what_is_denied(store: KeptBlobs, s3: S3Server) -> None:
    """Caught: a lost blob for which a worker asks until it ends: S3 denies access to it, where listing is restricted."""
    reference = await store.put(b"thread")
    denied = refusal(403, "AccessDenied")
    s3.fault = lambda request: denied if request.path.endswith(".zst") else None
    with pytest.raises(BlobNotFound, match=NONE_SUCH):
        await store.get(NONE_SUCH)
    with pytest.raises(StoreRefused, match="access denied"):
        await store.get(reference)


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (403, "AccessDenied", "access denied: allow this identity s3:GetObject, s3:PutObject"),
        (403, "InvalidAccessKeyId", "access key is not known"),
        (403, "SignatureDoesNotMatch", "secret key is wrong"),
        (400, "ExpiredToken", "credentials have expired"),
        (418, "Teapot", "was answered with 418 Teapot"),
    ],
)
async def test_refusals_say_what_to_do_and_nothing_that_the_server_repeats(
    s3: S3Server, store: KeptBlobs, status: int, code: str, told: str
) -> None:
    s3.fault = lambda _request: refusal(status, code, f"you sent {SECRET_KEY}")
    for doing in (store.get(NONE_SUCH), store.put(b"x"), store.check()):
        with pytest.raises(StoreRefused, match=told) as refused:
            await doing
        assert SECRET_KEY not in str(refused.value)


async def test_without_credentials_it_says_where_they_may_be(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    with pytest.raises(StoreRefused, match=r"no credentials .*AWS_ACCESS_KEY_ID"):
        await open_blob_store("s3://bucket").put(b"x")


def test_a_profile_that_is_not_there_is_said_at_once(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(BadBlobStoreUri, match=r"s3://bucket: .*ProfileNotFound"):
        open_blob_store("s3://bucket")


def test_without_boto3_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "odradek_runtime.blobs.s3", raising=False)
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(BadBlobStoreUri, match=r"pip install 'odradek-runtime\[s3\]'"):
        open_blob_store("s3://bucket")


async def test_answers_that_are_not_s3s_are_no_bug_of_ours(
    s3: S3Server, store: KeptBlobs, hasty: None
) -> None:
    s3.fault = lambda _request: Response("<html>a proxy's", 200, content_type="text/html")
    with pytest.raises(StoreUnavailable, match="blob store s3://"):
        await store.days("long")


async def test_no_more_connections_than_threads(s3: S3Server, store: KeptBlobs) -> None:
    await asyncio.gather(*(store.put(b"%d" % number) for number in range(100)))
    assert sum(request.startswith("PUT") for request in s3.requests[-100:]) == 100
