"""`odradek blobs gc`: what is old goes, and nothing that a record may still refer to."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from odradek_cli.errors import Exit
from odradek_cli.sweeping import before
from odradek_runtime.blobs import BlobNotFound, FileBlobStore, KeptBlobs
from odradek_runtime.blobs.s3 import S3BlobStore
from tests.support.s3 import S3Server, s3_server

TODAY = datetime.now(UTC).date()


def ago(days: int) -> str:
    return (TODAY - timedelta(days=days)).isoformat()


@pytest.fixture(scope="module")
def s3_of_module() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


class Keeping:
    """The deployment's store, on any day."""

    def __init__(self, kind: str, folder: Path, bucket: str) -> None:
        self.uri = folder.as_uri() if kind == "file" else f"s3://{bucket}/blobs"
        self._kind, self._folder, self._bucket = kind, folder, bucket

    def store(self, day: str) -> KeptBlobs:
        if self._kind == "file":
            return FileBlobStore(self._folder, lambda: day)
        return S3BlobStore(self._bucket, "blobs", lambda: day)

    def put(self, days_ago: int, retention: str) -> str:
        return asyncio.run(self.store(ago(days_ago)).put(b"of %d" % days_ago, retention))

    def has(self, reference: str) -> bool:
        try:
            return bool(asyncio.run(self.store(ago(0)).get(reference)))
        except BlobNotFound:
            return False


@pytest.fixture(params=["file", "s3"])
def keeping(
    request: pytest.FixtureRequest,
    world: Any,
    tmp_path: Path,
    s3_of_module: S3Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Keeping:
    for name, value in s3_of_module.environment.items():
        monkeypatch.setenv(name, value)
    bucket = s3_of_module.make_bucket(f"gc-{world.prefix[:-1]}")
    keeping = Keeping(request.param, tmp_path / "kept", bucket)
    monkeypatch.setenv("ODRADEK_BLOB_STORE", keeping.uri)
    return keeping


@pytest.mark.kafka
def test_old_days_are_deleted_and_nothing_else(keeping: Keeping, odradek: Any) -> None:
    old, young, long = keeping.put(31, "days"), keeping.put(30, "days"), keeping.put(400, "long")
    tried = odradek("blobs", "gc", "--dry-run", "--json")
    assert json.loads(tried.stdout)["days"][0] | {"bytes": 0} == {
        "class": "days", "day": ago(31), "blobs": 1, "bytes": 0
    }  # fmt: skip
    assert keeping.has(old)
    done = odradek("blobs", "gc")
    assert done.exit_code == 0, done.output
    assert "deleted 1 blobs" in done.stdout
    assert [keeping.has(each) for each in (old, young, long)] == [False, True, True]
    assert "nothing is old enough" in odradek("blobs", "gc").stdout
    assert "deleted 1 blobs" in odradek("blobs", "gc", "--older-than", "29").stdout


@pytest.mark.kafka
def test_days_that_records_may_refer_to_are_kept(
    keeping: Keeping, world: Any, makes: Any, odradek: Any
) -> None:
    """Caught: a rollout that waits for weeks, and finds its large values gone."""
    world.write_at(datetime.now(UTC) - timedelta(days=40), makes.progress(1))
    gone, needed, later = (keeping.put(days, "days") for days in (43, 41, 35))
    done = odradek("blobs", "gc")
    assert done.exit_code == 0, done.output
    assert f"kept from {ago(41)} on: records" in done.stderr
    assert [keeping.has(each) for each in (gone, needed, later)] == [False, True, True]


@pytest.mark.kafka
def test_results_are_deleted_only_when_asked_for_by_name_and_age(keeping: Keeping, odradek: Any) -> None:
    old, of_days = keeping.put(31, "long"), keeping.put(31, "days")
    refused = odradek("blobs", "gc", "--long")
    assert refused.exit_code == Exit.USAGE
    assert "--older-than DAYS" in refused.stderr
    assert keeping.has(old)
    assert odradek("blobs", "gc", "--long", "--older-than", "30").exit_code == 0
    assert [keeping.has(each) for each in (old, of_days)] == [False, True]


@pytest.mark.kafka
def test_a_store_that_refuses_is_told_in_one_line(
    world: Any, odradek: Any, s3_of_module: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3_of_module.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ODRADEK_BLOB_STORE", "s3://nowhere-at-all")
    done = odradek("blobs", "gc")
    assert done.exit_code == Exit.NO_STACK
    assert done.stderr.startswith("error: blob store s3://nowhere-at-all: there is no such bucket")
    found = json.loads(odradek("doctor", "--json").stdout)
    (store,) = [finding for finding in found if finding["what"] == "blob store"]
    assert store["status"] == "missing"
    assert "no such bucket" in store["found"]


def test_the_bound_itself_is_kept() -> None:
    assert before(["2026-10-30", "2026-10-31", "2026-11-01"], date(2026, 10, 31)) == ["2026-10-30"]
