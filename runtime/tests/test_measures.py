"""What a worker measures: each thing once, of what was committed alone; and who it is, and how it stands."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Counter, generate_latest
from prometheus_client.registry import Collector
from runtime_lab import CALLS, DEADLINE, RESULTS, Echo, Lab, Tally, call, until

from odradek_runtime.blobs import BlobNotFound, FileBlobStore
from odradek_runtime.committer import Committer
from odradek_runtime.errors import CommitFailedError
from odradek_runtime.measured_blobs import MeasuredBlobStore
from odradek_runtime.measures import MOST_NAMES, OTHER, Names, Tellers
from odradek_runtime.metrics import Metrics
from odradek_runtime.records import Output, Tombstone
from odradek_schemas.events import ModelCallCompleted, RecordCoordinates, RecordRejected, RunCancelled


class Answers:
    """Counts answers that were committed."""

    def __init__(self) -> None:
        self.counter = Counter("odradek_answers", "Answers.", registry=None)
        self._tellers = Tellers({ModelCallCompleted: lambda event: self.counter.inc()})

    def collectors(self) -> Sequence[Collector]:
        return [self.counter]

    def committed(self, outputs: Sequence[Output | Tombstone]) -> None:
        self._tellers.committed(outputs)


def text(metrics: Metrics) -> str:
    return generate_latest(metrics.registry).decode()


def lines(metrics: Metrics, name: str) -> list[str]:
    return [line for line in text(metrics).splitlines() if line.startswith(name)]


def test_names_from_outside_are_bounded() -> None:
    """Caught: a label that whoever writes events can fill a worker's memory with."""
    names = Names()
    assert [names.of(f"e{n}") for n in range(MOST_NAMES)] == [f"e{n}" for n in range(MOST_NAMES)]
    assert names.of("one more") == OTHER
    assert names.of("e0") == "e0"


def test_events_are_told_by_type_and_tombstones_are_none() -> None:
    told: list[str] = []
    tellers = Tellers({RunCancelled: lambda event: told.append(event.run_id)})
    cancelled = RunCancelled(id="r/cancel", run_id="r", reason="asked to")
    tellers.committed([Tombstone("sessions", "s"), Output("control", cancelled)])
    assert told == ["r"]


def test_dead_letters_are_counted_by_the_topic_they_came_from() -> None:
    metrics = Metrics()
    place = RecordCoordinates(topic="rewards", partition=3, offset=7)
    letter = RecordRejected(id=str(place), record=place, worker="w", reason="not JSON")
    metrics.committed([Output("dead-letters", letter)])
    assert lines(metrics, "odradek_dead_letters_total") == ['odradek_dead_letters_total{topic="rewards"} 1.0']


async def test_calls_of_the_blob_store_are_timed_and_errors_counted(tmp_path: Path) -> None:
    metrics = Metrics()
    blobs = MeasuredBlobStore(FileBlobStore(tmp_path), metrics)
    reference = await blobs.put(b"x" * 1000, "days")
    assert await blobs.get(reference) == b"x" * 1000
    with pytest.raises(BlobNotFound):
        await blobs.get("days/2026-01-01/sha256:" + 64 * "0")
    assert 'odradek_blob_seconds_count{call="put"} 1.0' in text(metrics)
    assert 'odradek_blob_seconds_count{call="get"} 2.0' in text(metrics)
    assert lines(metrics, "odradek_blob_errors_total") == [
        'odradek_blob_errors_total{call="get",kind="BlobNotFound"} 1.0'
    ]


@pytest.mark.kafka
@pytest.mark.parametrize("shape", [Echo, Tally])
async def test_what_is_done_again_or_restored_is_counted_once(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, shape: type[Echo | Tally]
) -> None:
    """Caught: counting at the work instead of at its commit, which a failed cycle and a restore pass again."""
    transact, failed = Committer._transact, []

    async def failing_once(self: Committer, batches: Any) -> dict[str, int]:
        if not failed and any(target.topic.endswith(RESULTS) for target, _batch in batches):
            failed.append(True)
            raise CommitFailedError("as if the broker had refused")
        return await transact(self, batches)

    monkeypatch.setattr(Committer, "_transact", failing_once)
    answers = Answers()
    first = lab.start(replace(shape().processor(), measures=answers))
    await lab.send(CALLS, [call(0), call(1)])
    await lab.answered(2)
    await first.stop()
    second = lab.start(replace(shape().processor(), measures=answers))
    await lab.owning(second)
    await lab.send(CALLS, [call(2)])
    await lab.answered(3)
    await until(lambda: second.value("odradek_answers_total") == 3)
    assert failed
    assert first.value("odradek_errors_total", kind="CommitFailedError") == 1
    assert second.value("odradek_ready") == 1
    assert (second.value("odradek_group_silence_seconds") or 0) < DEADLINE
    assert second.value("odradek_worker_info", worker=second.worker._processor.name, version="0.1.0") == 1
