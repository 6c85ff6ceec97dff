"""The blob store, through its protocol."""

import asyncio
import hashlib
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek_runtime.blobs import (
    BadBlobStoreUri,
    BlobDamaged,
    BlobNotFound,
    BlobStore,
    FileBlobStore,
    blob_uri,
    open_blob_store,
    reference_of,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "some where" / "blobs"


@pytest.fixture
def store(folder: Path) -> BlobStore:
    return open_blob_store(folder.as_uri())


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_returns_what_was_put(store: BlobStore) -> None:
    data = b"spool " * 100_000
    assert await store.get(await store.put(data)) == data


@given(data=st.binary(max_size=2000))
@settings(max_examples=30, deadline=None)
def test_any_content_comes_back(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    store = FileBlobStore(tmp_path_factory.mktemp("blobs"))

    async def round_trip() -> bytes:
        return await store.get(await store.put(data))

    assert asyncio.run(round_trip()) == data


async def test_reference_names_class_day_and_hash(folder: Path) -> None:
    store = FileBlobStore(folder, today=lambda: "2026-11-29")
    digest = hashlib.sha256(b"thread").hexdigest()
    assert await store.put(b"thread", "days") == f"days/2026-11-29/sha256:{digest}"
    assert [path.relative_to(folder).parts[:2] for path in files(folder)] == [("days", "2026-11-29")]


async def test_same_content_is_stored_once_a_day(folder: Path, store: BlobStore) -> None:
    first = await store.put(b"thread")
    before = [(path, path.stat().st_ino) for path in files(folder)]
    assert await store.put(b"thread") == first
    assert [(path, path.stat().st_ino) for path in files(folder)] == before
    assert len(before) == 1


async def test_deleting_an_old_day_spares_the_same_content_of_a_newer_one(folder: Path) -> None:
    old = FileBlobStore(folder, today=lambda: "2026-11-01")
    new = FileBlobStore(folder, today=lambda: "2026-11-29")
    gone, kept = await old.put(b"thread"), await new.put(b"thread")
    for path in files(folder / "long" / "2026-11-01"):
        path.unlink()
    assert await new.get(kept) == b"thread"
    with pytest.raises(BlobNotFound, match=gone):
        await new.get(gone)


async def test_content_is_compressed(folder: Path, store: BlobStore) -> None:
    await store.put(b"a" * 1_000_000)
    assert sum(path.stat().st_size for path in files(folder)) < 10_000


async def test_many_writers_of_one_blob_agree(folder: Path, store: BlobStore) -> None:
    references = await asyncio.gather(*(store.put(b"thread" * 10_000) for _ in range(20)))
    assert len(set(references)) == 1
    assert len(files(folder)) == 1
    assert await store.get(references[0]) == b"thread" * 10_000


@pytest.mark.parametrize("keep", [0, 10, -1])
async def test_a_cut_file_is_damaged(folder: Path, store: BlobStore, keep: int) -> None:
    reference = await store.put(os.urandom(5000))
    (path,) = files(folder)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BlobDamaged, match=reference):
        await store.get(reference)


async def test_other_content_under_the_name_is_damaged(folder: Path, store: BlobStore) -> None:
    reference = await store.put(b"thread")
    (path,) = files(folder)
    other = await store.put(b"wool")
    (of_other,) = set(files(folder)) - {path}
    path.write_bytes(of_other.read_bytes())
    with pytest.raises(BlobDamaged, match=other.rpartition(":")[2]):
        await store.get(reference)


async def test_a_failed_write_leaves_nothing(
    folder: Path, store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        await store.put(b"thread")
    assert files(folder) == []


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


async def test_unknown_retention_is_refused(store: BlobStore) -> None:
    with pytest.raises(ValueError, match="days, long"):
        await store.put(b"thread", "for ever")


@pytest.mark.parametrize("uri", ["", "/var/blobs", "file:relative", "file://host/blobs", "http://host/blobs"])
def test_bad_uris_are_refused(uri: str) -> None:
    with pytest.raises(BadBlobStoreUri, match="expected file:///"):
        open_blob_store(uri)


def test_s3_is_known_and_not_in_this_build() -> None:
    with pytest.raises(BadBlobStoreUri, match="file store only"):
        open_blob_store("s3://bucket/blobs")


@pytest.mark.parametrize(("folder", "file"), [(0o700, 0o600), (0o777, 0o666), (0o2770, 0o660)])
async def test_what_is_in_a_store_has_its_folders_permissions(tmp_path: Path, folder: int, file: int) -> None:
    root = tmp_path / "blobs"
    root.mkdir()
    root.chmod(folder)
    await FileBlobStore(root).put(b"content", "days")
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
    assert {mode for path, mode in found.items() if path.is_dir()} == {folder}
    assert [mode for path, mode in found.items() if path.is_file()] == [file]


async def test_a_folder_that_the_store_makes_is_its_users_alone(tmp_path: Path) -> None:
    await FileBlobStore(tmp_path / "blobs").put(b"content")
    assert stat.S_IMODE((tmp_path / "blobs").stat().st_mode) == 0o700


def test_data_sets_name_blobs_by_uri() -> None:
    assert reference_of(blob_uri("long/2026-11-29/sha256:0")) == "long/2026-11-29/sha256:0"
    assert reference_of("file:///tasks.jsonl") is None
