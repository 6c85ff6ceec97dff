"""The topic table: every event has its one place, and a key that keeps a rollout together."""

import inspect

import pytest

from odradek_schemas import events
from odradek_schemas.events import (
    Event,
    ModelCallCompleted,
    ModelCallFailed,
    PositionsCommitted,
    SessionStateChanged,
)
from odradek_schemas.events.base import RolloutEvent, RunEvent
from odradek_schemas.examples import examples
from odradek_schemas.topics import BY_NAME, CONTROL, TOPICS, WORKERS, Kept, Topic

ONLY_INSIDE_OTHERS = {"TimerFired", "RolloutFaulted"}  # journal inputs that are never records of their own
every_topic = pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)


def declared_events() -> set[type[Event]]:
    found = {value for _, value in inspect.getmembers(events, inspect.isclass) if issubclass(value, Event)}
    return found - {Event}


def test_every_event_has_its_topic_and_those_of_several_readers_one_for_each() -> None:
    placed = [event for topic in TOPICS for event in topic.events]
    several = {event for event in placed if placed.count(event) > 1}
    assert several == {PositionsCommitted, ModelCallCompleted, ModelCallFailed}
    assert {topic.name for topic in TOPICS if ModelCallCompleted in topic.events} == {
        "model-results",
        "judge-results",
    }
    assert placed.count(PositionsCommitted) == len(WORKERS)
    homeless = {event.__name__ for event in declared_events() - set(placed)}
    assert homeless == ONLY_INSIDE_OTHERS


@every_topic
def test_types_are_the_names_of_the_events(topic: Topic) -> None:
    assert topic.types == {event.__name__ for event in topic.events}


@every_topic
def test_every_event_has_a_key_that_says_what_the_table_says(topic: Topic) -> None:
    for event_type in topic.events:
        for event in examples(event_type):
            assert event.key
            if topic.key == "rollout id":
                assert issubclass(event_type, RolloutEvent)
                assert event.key == event.rollout_id
            if topic.key == "run id":
                assert issubclass(event_type, RunEvent)
                assert event.key == event.run_id
            if topic.key == "session id":
                assert isinstance(event, SessionStateChanged)
                assert event.key == event.session_id


@every_topic
def test_compacted_topics_name_things_and_never_streams(topic: Topic) -> None:
    streams = {"rollout id", "the record's coordinates"}
    assert (topic.kept is Kept.COMPACTED) <= (topic.key not in streams)


@every_topic
def test_what_workers_read_is_written_by_somebody(topic: Topic) -> None:
    assert topic.written_by
    assert topic.read_by
    assert topic.purpose.endswith(".")


def test_every_worker_reads_control_and_only_it_is_single() -> None:
    assert set(WORKERS) <= set(CONTROL.read_by)
    assert [topic.name for topic in TOPICS if topic.single] == ["control"]


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(TOPICS)
    assert all(BY_NAME[topic.name] is topic for topic in TOPICS)


def test_only_days_are_purged() -> None:
    assert all(topic.purged == (topic.kept is Kept.DAYS) for topic in TOPICS)
