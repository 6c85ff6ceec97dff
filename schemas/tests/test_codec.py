"""Events on the wire: what is written is read back, and what can't be read is a typed error with its place."""

import json
from datetime import datetime
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek_schemas import events as e
from odradek_schemas import topics as t
from odradek_schemas.base import Model
from odradek_schemas.codec import (
    Envelope,
    InvalidValue,
    MissingHeader,
    RecordError,
    UnknownType,
    decode,
    encode,
    read_envelope,
    tombstone,
    with_reference,
)
from odradek_schemas.documents import json_schema
from odradek_schemas.events import Event, RecordCoordinates, RewardAssigned
from odradek_schemas.examples import examples
from odradek_schemas.rollouts import Group
from odradek_schemas.testing import values
from odradek_schemas.topics import TOPICS, Topic

PLACE = RecordCoordinates(topic="odradek.tasks", partition=3, offset=41)
EVENTS = [pytest.param(topic, event, id=event.__name__) for topic in TOPICS for event in topic.events]
every_event = pytest.mark.parametrize(("topic", "event_type"), EVENTS)
few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


def read(topic: Topic, value: bytes, headers: tuple[tuple[str, bytes], ...]) -> Any:
    return decode(topic, read_envelope(headers, PLACE), value, PLACE)


def written(event: Event) -> tuple[bytes, tuple[tuple[str, bytes], ...]]:
    encoded = encode(event, "test")
    assert encoded.value is not None
    return encoded.value, encoded.headers


def whole(event_type: type[Event]) -> Event:
    """An example with every field set."""
    return list(examples(event_type))[-1]


@every_event
@few
@given(data=st.data())
def test_every_event_comes_back_as_it_was(topic: Topic, event_type: type[Event], data: st.DataObject) -> None:
    event = data.draw(values(event_type))
    value, headers = written(event)
    assert read(topic, value, headers) == event


@every_event
@few
@given(data=st.data())
def test_what_is_written_fits_the_published_schema(
    topic: Topic, event_type: type[Event], data: st.DataObject
) -> None:
    # JSON has no infinities: our own readers take them, no schema describes them. 1 is within every bound.
    value, _ = written(data.draw(values(event_type)))
    document = json.loads(value, parse_constant=lambda _: 1.0)
    jsonschema_rs.Draft202012Validator(json_schema(event_type)).validate(document)


@every_event
def test_headers_tell_what_readers_filter_by(topic: Topic, event_type: type[Event]) -> None:
    event = whole(event_type)
    headers = encode(event, "agent-worker", traceparent="00-1-2-01").headers
    assert read_envelope(headers, PLACE) == Envelope(
        type=event.type,
        id=event.id,
        run_id=event.run_id,
        rollout_id=event.rollout_id,
        scoring=event.scoring if isinstance(event, RewardAssigned) else None,
        dataref=None,
        traceparent="00-1-2-01",
    )
    attributes = dict(headers)
    assert attributes["ce_specversion"] == b"1.0"
    assert attributes["content-type"] == b"application/json"
    assert attributes["ce_source"] == b"agent-worker"
    assert datetime.fromisoformat(attributes["ce_time"].decode()) == event.time


def extended(value: Any) -> Any:
    """The JSON of `value` with an unknown field in each model, however deep it lies."""
    if isinstance(value, Model):
        fields = {name: extended(field) for name, field in value if field is not None}
        return fields | {"added_in_v9": {"deep": [1]}}
    if isinstance(value, list):
        return [extended(item) for item in value]
    if isinstance(value, dict):
        return {key: extended(item) for key, item in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


@every_event
def test_unknown_optional_fields_are_tolerated_at_every_level(topic: Topic, event_type: type[Event]) -> None:
    for event in examples(event_type):
        _, headers = written(event)
        assert read(topic, json.dumps(extended(event)).encode(), headers) == event


def test_writers_are_strict() -> None:
    with pytest.raises(ValueError, match="added_in_v9"):
        Group.model_validate({"task_id": "r/0", "size": 1, "added_in_v9": 1})


@every_event
def test_a_value_cut_anywhere_is_invalid(topic: Topic, event_type: type[Event]) -> None:
    value, headers = written(whole(event_type))
    for end in range(0, len(value), max(1, len(value) // 20)):
        with pytest.raises(InvalidValue) as caught:
            read(topic, value[:end], headers)
        names_its_place(caught.value)


@every_event
@few
@given(data=st.data())
def test_a_field_of_the_wrong_type_is_named(
    topic: Topic, event_type: type[Event], data: st.DataObject
) -> None:
    value, headers = written(whole(event_type))
    document = json.loads(value)
    field = data.draw(st.sampled_from(sorted(document)))
    # No field takes a list of numbers, and none but a list takes one of lists.
    document[field] = [[1.5]] if not isinstance(document[field], list) else 1.5
    with pytest.raises(InvalidValue) as caught:
        read(topic, json.dumps(document).encode(), headers)
    names_its_place(caught.value)
    assert field in caught.value.reason or field == "type"


@every_event
@pytest.mark.parametrize("header", ["ce_type", "ce_id"])
def test_a_missing_header_is_named(topic: Topic, event_type: type[Event], header: str) -> None:
    _, headers = written(whole(event_type))
    with pytest.raises(MissingHeader, match=header) as caught:
        read_envelope([pair for pair in headers if pair[0] != header], PLACE)
    names_its_place(caught.value)


def test_a_header_that_is_not_text_is_an_error() -> None:
    with pytest.raises(MissingHeader, match="UTF-8") as caught:
        read_envelope([("ce_type", b"X"), ("ce_id", b"\xff")], PLACE)
    names_its_place(caught.value)


@every_event
def test_an_event_on_a_foreign_topic_is_named(topic: Topic, event_type: type[Event]) -> None:
    value, headers = written(whole(event_type))
    foreign = t.REWARDS if topic is t.TASKS else t.TASKS
    with pytest.raises(UnknownType, match=event_type.__name__) as caught:
        read(foreign, value, headers)
    names_its_place(caught.value)


def test_headers_and_value_must_agree_on_the_type() -> None:
    value, headers = written(next(examples(e.RunCancelRequested)))
    lying = tuple((k, b"RunFinished" if k == "ce_type" else v) for k, v in headers)
    with pytest.raises(InvalidValue, match="RunFinished") as caught:
        read(t.RUNS, value, lying)
    names_its_place(caught.value)


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"\xff\xfe", b'"text"', b"{}"])
@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_what_is_no_event_is_invalid(topic: Topic, value: bytes) -> None:
    _, headers = written(next(examples(topic.events[0])))
    with pytest.raises(InvalidValue) as caught:
        read(topic, value, headers)
    names_its_place(caught.value)


def test_a_long_list_of_problems_is_cut() -> None:
    _, headers = written(next(examples(e.RolloutRequested)))
    with pytest.raises(InvalidValue, match=r"; and \d+ more$"):
        read(t.TASKS, b"{}", headers)


def test_a_reference_replaces_the_value() -> None:
    encoded = encode(next(examples(e.RolloutRequested)), "test")
    referring = with_reference(encoded, "long/2026-11-29/sha256:0")
    assert referring.key == encoded.key
    assert referring.value == b""
    assert read_envelope(referring.headers, PLACE).dataref == "long/2026-11-29/sha256:0"
    assert read_envelope(referring.headers, PLACE).type == "RolloutRequested"


def test_a_tombstone_has_a_key_and_no_value() -> None:
    assert tombstone("r/0/0/1").key == b"r/0/0/1"
    assert tombstone("r/0/0/1").value is None


def names_its_place(error: RecordError) -> None:
    assert error.record == PLACE
    for part in ("odradek.tasks", "3", "41", error.reason):
        assert part in str(error)
    assert error.reason
