"""Claim check: values above 256 KiB lie in the blob store, and travel through a worker all the same."""

import asyncio
from pathlib import Path

import pytest
from runtime_lab import CALLS, JOURNAL, RESULTS, Echo, Lab, Tally, call, reply

from odradek_runtime import intake
from odradek_runtime.blobs import BlobStore, open_blob_store
from odradek_runtime.blobs.s3 import TRIES
from odradek_runtime.errors import WorkerError
from odradek_runtime.records import Output, Outputs
from odradek_schemas.codec import CLAIM_CHECK_BYTES, encode, with_reference
from odradek_schemas.events import ModelCallRequested
from tests.support.s3 import S3Server, refusal, times

pytestmark = pytest.mark.kafka

LARGE = "x" * (CLAIM_CHECK_BYTES + 1)


class Parrot(Echo):
    def outputs(self, event: ModelCallRequested) -> Outputs:
        return [reply(event, event.messages[0].text)]


class ParrotTally(Tally):
    def outputs(self, event: ModelCallRequested, number: int) -> Outputs:
        return [self.entry(event), reply(event, event.messages[0].text)]


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_a_large_value_is_read_from_the_blob_store_and_written_to_it(lab: Lab, shape: str) -> None:
    """Caught: a large record on the log, a reference taken for a value, a blob written after its record."""
    large = encode(call(0, text=LARGE), "test")
    assert large.value is not None
    reference = await lab.blobs.put(large.value)
    record = with_reference(large, reference)
    await lab.send_raw(CALLS, record.key, record.value, record.headers)
    await lab.send(CALLS, [call(1, text="small")])
    await lab.owning(lab.start(Parrot().processor() if shape == "concurrent" else ParrotTally().processor()))
    await lab.answered(2)
    by_size = {"ce_dataref" in seen.headers: seen for seen in await lab.read(RESULTS)}
    assert by_size[False].event.message.content == "small"
    answered = by_size[True].headers["ce_dataref"].decode()
    assert LARGE.encode() in await lab.blobs.get(answered)
    assert answered.startswith("days/")  # kept as its topic is
    assert by_size[True].headers["ce_type"] == b"ModelCallCompleted"


class HangsOnce:
    """A blob store of which one answer never comes."""

    def __init__(self, store: BlobStore) -> None:
        self.put, self._store, self.hung = store.put, store, 0

    async def get(self, reference: str) -> bytes:
        if not self.hung:
            self.hung += 1
            await asyncio.Event().wait()
        return await self._store.get(reference)


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_a_blob_store_that_does_not_answer_is_asked_again(
    lab: Lab, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: a partition that stands still for ever; a record taken for poison, though its store is to blame."""
    monkeypatch.setattr(intake, "BLOB_SECONDS", 0.2)
    large = encode(call(0, text=LARGE), "test")
    assert large.value is not None
    record = with_reference(large, await lab.blobs.put(large.value))
    await lab.send_raw(CALLS, record.key, record.value, record.headers)
    lab.blobs = store = HangsOnce(lab.blobs)
    await lab.owning(lab.start(Parrot().processor() if shape == "concurrent" else ParrotTally().processor()))
    await lab.answered(1)
    assert store.hung == 1
    assert await lab.read("dead-letters") == []


@pytest.mark.parametrize("shape", ["concurrent", "stateful"])
async def test_a_bucket_that_is_away_for_a_moment_costs_nothing(
    lab: Lab, s3: S3Server, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: a worker that ends, or takes records for poison, because S3 does not answer when it reads or writes."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    lab.blobs = open_blob_store(f"s3://{s3.make_bucket(f'large-{lab.prefix[:-1]}')}/blobs")
    large = encode(call(0, text=LARGE), "test")
    assert large.value is not None
    record = with_reference(large, await lab.blobs.put(large.value))
    await lab.send_raw(CALLS, record.key, record.value, record.headers)
    away = [times(2 * TRIES, lambda: refusal(503, "SlowDown"), method) for method in ("GET", "PUT")]
    s3.fault = lambda request: next(filter(None, (fault(request) for fault in away)), None)
    running = lab.start(Parrot().processor() if shape == "concurrent" else ParrotTally().processor())
    await lab.owning(running)
    (seen,) = await lab.answered(1)
    assert LARGE.encode() in await lab.blobs.get(seen.headers["ce_dataref"].decode())
    assert running.value("odradek_acquisitions_total") == lab.partitions + 4
    assert await lab.read("dead-letters") == []


async def test_a_disk_that_can_not_be_read_is_not_the_records_fault(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = encode(call(0, text=LARGE), "test")
    assert large.value is not None
    record = with_reference(large, await lab.blobs.put(large.value))
    await lab.send_raw(CALLS, record.key, record.value, record.headers)
    read, failed = Path.read_bytes, []

    def breaks_once(path: Path) -> bytes:
        if path.suffix == ".zst" and not failed:
            failed.append(path)
            raise OSError(5, "Input/output error")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", breaks_once)
    await lab.owning(lab.start(Parrot().processor()))
    await lab.answered(1)
    assert failed
    assert await lab.read("dead-letters") == []


async def test_large_values_of_a_cycle_are_stored_together(lab: Lab) -> None:
    """Caught: a store that takes a moment for each, and a cycle that outlasts its deadline for that."""

    class Together:
        """Takes nothing before it has been given all."""

        def __init__(self, store: BlobStore, number: int) -> None:
            self.get, self._store, self._all = store.get, store, asyncio.Barrier(number)

        async def put(self, data: bytes, retention: str = "long") -> str:
            await self._all.wait()
            return await self._store.put(data, retention)

    class Three(Echo):
        def outputs(self, event: ModelCallRequested) -> Outputs:
            return [reply(event, f"{number}{LARGE}") for number in range(3)]

    lab.blobs = Together(lab.blobs, 3)
    await lab.owning(lab.start(Three().processor()))
    await lab.send(CALLS, [call(0)])
    answers = await lab.answered(3)
    texts = [await lab.blobs.get(seen.headers["ce_dataref"].decode()) for seen in answers]
    assert [text.find(f"{number}xxx".encode()) > 0 for number, text in enumerate(texts)] == [True] * 3


async def test_a_large_entry_of_a_changelog_is_restored(lab: Lab) -> None:
    """Caught: a restore that reads references for values."""

    class LargeEntries(Tally):
        def entry(self, event: ModelCallRequested) -> Output:
            small = super().entry(event).event
            return Output(JOURNAL, small.model_copy(update={"id": event.id + LARGE}))

    first = lab.start(LargeEntries().processor())
    await lab.owning(first)
    await lab.send(CALLS, [call(0)])
    await lab.answered(1)
    await first.stop()
    again = Tally()
    await lab.owning(lab.start(again.processor()))
    (fold,) = [fold for fold in again.folds if fold.context.partition == 0]
    assert [id[:6] for id in fold.seen] == ["call-0"]
    assert len(fold.seen[0]) > CLAIM_CHECK_BYTES


async def test_a_changelog_that_can_not_be_read_stops_the_worker_with_words(lab: Lab) -> None:
    """Caught: going on with a state that lacks an entry."""
    await lab.send_raw(JOURNAL, b"k", b"{}", [("ce_type", b"HarnessStuck"), ("ce_id", b"x")])
    running = lab.start(Tally().processor())
    with pytest.raises(WorkerError, match=r"can't be restored: journal\[0\]@0: HarnessStuck: .*tag"):
        await asyncio.wait_for(asyncio.shield(running.task), 60)
