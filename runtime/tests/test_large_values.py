"""Claim check: values above 256 KiB lie in the blob store, and travel through a worker all the same."""

import asyncio

import pytest
from runtime_lab import CALLS, JOURNAL, RESULTS, Echo, Lab, Tally, call, reply

from odradek_runtime import intake
from odradek_runtime.blobs import BlobStore
from odradek_runtime.errors import WorkerError
from odradek_runtime.records import Output, Outputs
from odradek_schemas.codec import CLAIM_CHECK_BYTES, encode, with_reference
from odradek_schemas.events import ModelCallRequested

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
