"""Old records must be read for ever: those recorded under `golden/` load, and nothing in them is lost."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from odradek_schemas.codec import InvalidValue, RecordError, decode, read_envelope
from odradek_schemas.events import Event, RecordCoordinates, RunRequested
from odradek_schemas.generate import event_types, record_golden
from odradek_schemas.topics import RUNS, TOPICS, Kept, Topic

GOLDEN = Path(__file__).parents[1] / "golden"
Golden = dict[str, Any]
RECORDS: dict[str, Golden] = {
    f"{path.parent.name}-{path.stem}-{number}": json.loads(line)
    for path in sorted(GOLDEN.glob("*/*.jsonl"))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
}


def load(record: Golden, topic: Topic | None = None) -> Event:
    """Read a recorded record with today's code.

    Raises:
        RecordError: it can't be read.
        LookupError: its type has no topic any more.
    """
    headers = [(name, value.encode()) for name, value in record["headers"].items()]
    place = RecordCoordinates(topic="golden", partition=0, offset=0)
    envelope = read_envelope(headers, place)
    topic = topic or next((known for known in TOPICS if envelope.type in known.types), None)
    if topic is None:
        raise LookupError(f"no topic carries {envelope.type} any more")
    event = decode(topic, envelope, json.dumps(record["value"]).encode(), place)
    assert isinstance(event, Event)
    return event


def lost(old: Any, new: Any, path: str = "value") -> list[str]:
    """What of `old` is not in `new` as it was; fields that `new` has besides are no loss."""
    if isinstance(old, dict) and isinstance(new, dict):
        inside = (lost(old[key], new[key], f"{path}.{key}") for key in old.keys() & new.keys())
        return [f"{path}.{key}" for key in old.keys() - new.keys()] + [p for found in inside for p in found]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [p for i, (a, b) in enumerate(zip(old, new, strict=True)) for p in lost(a, b, f"{path}[{i}]")]
    return [] if old == new else [path]


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_a_recorded_record_is_still_read_whole(record: Golden) -> None:
    event = load(record)
    assert lost(record["value"], event.model_dump(mode="json")) == []
    assert event.key == record["key"]


def test_every_event_type_has_golden_records() -> None:
    recorded = {path.stem for path in GOLDEN.glob("*/*.jsonl")}
    missing = sorted(event_types().keys() - recorded)
    assert not missing, f"record them: python -m odradek_schemas.generate --golden VERSION ({missing})"


def test_recording_again_writes_over_nothing(tmp_path: Path) -> None:
    first = record_golden("v1", tmp_path)
    assert {path.stem for path in first} == event_types().keys()
    first[0].write_text("kept\n")
    first[1].unlink()
    assert record_golden("v1", tmp_path) == [first[1]]
    assert first[0].read_text() == "kept\n"


class WithNewRequired(RunRequested):
    """A change that old records can't survive: a new field without a default."""

    type: Literal["RunRequested"] = "RunRequested"
    priority: int


class WithRenamed(RunRequested):
    """Another: what was `environment` is now called `world`."""

    type: Literal["RunRequested"] = "RunRequested"
    world: str


class WithChangedType(RunRequested):
    """Another: a name became a number."""

    type: Literal["RunRequested"] = "RunRequested"
    environment: int  # type: ignore[assignment]


def changed(event: type[Event]) -> Topic:
    return Topic("runs", (event,), "run id", Kept.LONG, ("cli",), ("cli",), "Changed.")


def golden_run_requests() -> list[Golden]:
    return [r for r in RECORDS.values() if r["headers"]["ce_type"] == "RunRequested"]


@pytest.mark.parametrize(
    ("event", "field"),
    [(WithNewRequired, "priority"), (WithRenamed, "world"), (WithChangedType, "environment")],
)
def test_a_breaking_change_is_caught(event: type[Event], field: str) -> None:
    for record in golden_run_requests():
        load(record, RUNS)
        with pytest.raises(InvalidValue, match=field):
            load(record, changed(event))


def test_a_renamed_optional_field_is_caught_as_a_loss() -> None:
    record = {"harness": "tool_calling", "limits": {"max_turns": 1}}
    assert lost(record, {"agent": "tool_calling", "limits": {"max_turns": 1}}) == ["value.harness"]
    assert lost(record, {"harness": "tool_calling", "limits": {"turns": 1}}) == ["value.limits.max_turns"]
    assert lost(record, record | {"new": 1}) == []


def test_a_type_that_is_gone_is_caught() -> None:
    record = golden_run_requests()[0]
    gone = record | {"headers": record["headers"] | {"ce_type": "RunWished"}}
    with pytest.raises((LookupError, RecordError), match="RunWished"):
        load(gone)
