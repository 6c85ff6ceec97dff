"""The contract of every blob store, through its protocol."""

import asyncio
import hashlib
import os
import stat
import uuid
from pathlib import Path

import pytest
from blob_lab import Bucket, Folder, Shelf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek_runtime.blobs import (
    BadBlobStoreUri,
    BlobDamaged,
    BlobNotFound,
    BlobStore,
    Deleted,
    blob_uri,
    open_blob_store,
    reference_of,
)
from tests.support.s3 import S3Server


@pytest.fixture(params=["file", "s3"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path, s3: S3Server) -> Shelf:
    if request.param == "file":
        return Folder(tmp_path / "some where" / "blobs")
    return Bucket(s3, f"blobs-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def store(shelf: Shelf) -> BlobStore:
    return open_blob_store(shelf.uri)


async def test_returns_what_was_put(store: BlobStore) -> None:
    data = b"spool " * 100_000
    assert await store.get(await store.put(data)) == data


@given(data=st.binary(max_size=2000))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_content_comes_back(data: bytes, store: BlobStore) -> None:
    async def round_trip() -> bytes:
        return await store.get(await store.put(data))

    assert asyncio.run(round_trip()) == data


async def test_reference_names_class_day_and_hash(shelf: Shelf) -> None:
    store = shelf.store(lambda: "2026-11-29")
    digest = hashlib.sha256(b"thread").hexdigest()
    assert await store.put(b"thread", "days") == f"days/2026-11-29/sha256:{digest}"
    assert list(shelf.blobs()) == [f"days/2026-11-29/{digest[:2]}/{digest}.zst"]


async def test_same_content_is_stored_once_a_day(shelf: Shelf, store: BlobStore) -> None:
    first = await store.put(b"thread")
    (name,) = shelf.blobs()
    shelf.write(name, b"not written again")
    assert await store.put(b"thread") == first
    assert shelf.blobs() == {name: b"not written again"}


async def test_deleting_an_old_day_spares_the_same_content_of_a_newer_one(shelf: Shelf) -> None:
    gone = await shelf.store(lambda: "2026-11-01").put(b"thread")
    kept = await shelf.store(lambda: "2026-11-29").put(b"thread")
    other = await shelf.store(lambda: "2026-11-01").put(b"thread", "days")
    store = shelf.store()
    assert await store.days("long") == ["2026-11-01", "2026-11-29"]
    await store.delete_day("long", "2026-11-01")
    assert await store.days("long") == ["2026-11-29"]
    assert await store.get(kept) == await store.get(other) == b"thread"
    with pytest.raises(BlobNotFound, match=gone):
        await store.get(gone)


async def test_what_a_day_holds_is_told_before_it_is_deleted(shelf: Shelf) -> None:
    store = shelf.store(lambda: "2026-11-01")
    for number in range(3):
        await store.put(os.urandom(1000 + number), "days")
    before = shelf.blobs()
    held = Deleted(3, sum(map(len, before.values())))
    assert await store.delete_day("days", "2026-11-01", dry_run=True) == held
    assert shelf.blobs() == before
    assert await store.delete_day("days", "2026-11-01") == held
    assert await store.delete_day("days", "2026-11-01") == Deleted(0, 0)
    assert shelf.blobs() == {}


async def test_what_is_not_ours_is_no_day(shelf: Shelf) -> None:
    assert await shelf.store().days("days") == []
    for name in ("days/notes.txt/x", "days/2026-1-1/x", "days/2026-11-31/x", "elsewhere/2026-11-01/x"):
        shelf.write(name, b"")
    shelf.write("days/2026-11-30/x", b"")
    assert await shelf.store().days("days") == ["2026-11-30"]


async def test_a_store_that_is_there_passes_its_check(store: BlobStore, shelf: Shelf) -> None:
    await open_blob_store(shelf.uri).check()


async def test_content_is_compressed(shelf: Shelf, store: BlobStore) -> None:
    await store.put(b"a" * 1_000_000)
    assert sum(map(len, shelf.blobs().values())) < 10_000


async def test_many_writers_of_one_blob_agree(shelf: Shelf, store: BlobStore) -> None:
    references = await asyncio.gather(*(store.put(b"thread" * 10_000) for _ in range(20)))
    assert len(set(references)) == 1
    assert len(shelf.blobs()) == 1
    assert await store.get(references[0]) == b"thread" * 10_000


@pytest.mark.parametrize("keep", [0, 10, -1])
async def test_a_cut_blob_is_damaged(shelf: Shelf, store: BlobStore, keep: int) -> None:
    reference = await store.put(os.urandom(5000))
    ((name, content),) = shelf.blobs().items()
    shelf.write(name, content[:keep])
    with pytest.raises(BlobDamaged, match=reference):
        await store.get(reference)


async def test_other_content_under_the_name_is_damaged(shelf: Shelf, store: BlobStore) -> None:
    reference = await store.put(b"thread")
    (name,) = shelf.blobs()
    other = await store.put(b"wool")
    shelf.write(name, next(content for found, content in shelf.blobs().items() if found != name))
    with pytest.raises(BlobDamaged, match=other.rpartition(":")[2]):
        await store.get(reference)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "sha256:" + "0" * 64,
        "long/2026-11-29/sha256:" + "0" * 63,
        "../2026-11-29/sha256:" + "0" * 64,
        "long/../sha256:" + "0" * 64,
        "long/2026-11-29/sha256:" + "0" * 64 + "/../x",
    ],
)
async def test_what_is_no_reference_is_not_found(store: BlobStore, reference: str) -> None:
    with pytest.raises(BlobNotFound, match="not a blob reference"):
        await store.get(reference)


async def test_unknown_retention_is_refused(shelf: Shelf) -> None:
    store = shelf.store()
    for doing in (store.put(b"thread", "../x"), store.days("../x"), store.delete_day("../x", "2026-11-01")):
        with pytest.raises(ValueError, match="days, long"):
            await doing
    with pytest.raises(ValueError, match="not a day"):
        await store.delete_day("days", "..")


@pytest.mark.parametrize(
    "uri",
    ["", "/var/blobs", "file:relative", "file://host/blobs", "http://host/blobs", "s3:bucket", "s3:///blobs"],
)
def test_bad_uris_are_refused(uri: str) -> None:
    with pytest.raises(BadBlobStoreUri, match=r"expected file:///.* or s3://bucket/prefix"):
        open_blob_store(uri)


@pytest.mark.parametrize("uri", ["s3://key:hunter2@bucket/blobs", "s3://bucket/blobs?secret=hunter2"])
def test_uris_with_secrets_are_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(BadBlobStoreUri, match="no credentials") as refused:
        open_blob_store(uri)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("folder", "file"), [(0o700, 0o600), (0o777, 0o666), (0o2770, 0o660)])
async def test_what_is_in_a_store_has_its_folders_permissions(tmp_path: Path, folder: int, file: int) -> None:
    root = tmp_path / "blobs"
    root.mkdir()
    root.chmod(folder)
    await open_blob_store(root.as_uri()).put(b"content", "days")
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
    assert {mode for path, mode in found.items() if path.is_dir()} == {folder}
    assert [mode for path, mode in found.items() if path.is_file()] == [file]


async def test_a_folder_that_the_store_makes_is_its_users_alone(tmp_path: Path) -> None:
    await open_blob_store((tmp_path / "blobs").as_uri()).put(b"content")
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_data_sets_name_blobs_by_uri() -> None:
    assert reference_of(blob_uri("long/2026-11-29/sha256:0")) == "long/2026-11-29/sha256:0"
    assert reference_of("file:///tasks.jsonl") is None
