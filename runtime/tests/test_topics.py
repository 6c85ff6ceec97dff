import asyncio
import time

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import Found, TopicError, apply_topics, check_topics, compare, diff_topics
from odradek_schemas.topics import CONTROL, LEDGER, RUNS, TASKS, TOPICS

EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


async def create(bootstrap: str, topic: NewTopic) -> None:
    """Make a topic, and wait until the broker has heard of it and of its settings from the controller."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin.create_topics([topic])
        assert not any(error[1] for error in answer.topic_errors), answer
        until = time.monotonic() + 20
        while not (await listed(admin, topic.name) and await has(bootstrap, topic)):
            assert time.monotonic() < until, f"{topic.name} was not to be seen within 20 s"
            await asyncio.sleep(0.02)
    finally:
        await admin.close()


async def listed(admin: AIOKafkaAdminClient, name: str) -> bool:
    return name in {topic["topic"] for topic in await admin.describe_topics()}


async def has(bootstrap: str, topic: NewTopic) -> bool:
    return (topic.topic_configs or {}).items() <= (await settings_of(bootstrap, topic.name)).items()


async def settings_of(bootstrap: str, name: str) -> dict[str, str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
        return {entry[0]: entry[1] for entry in answer.resources[0][4]}
    finally:
        await admin.close()


def test_nothing_differs_when_all_is_as_declared() -> None:
    assert compare(TASKS, "x.tasks", Found(4, EVER, {}), 4) == []


def test_a_limit_of_time_on_unread_records_is_a_difference() -> None:
    (difference,) = compare(RUNS, "x.runs", Found(4, EVER | {"retention.ms": "604800000"}, {}), 4)
    assert str(difference) == "x.runs: retention.ms is 604800000, must be -1"


def test_a_changelog_that_is_not_compacted_is_a_difference() -> None:
    (difference,) = compare(LEDGER, "x.ledger", Found(4, EVER, {}), 4)
    assert (difference.what, difference.wanted) == ("cleanup.policy", "compact")


def test_control_has_one_partition_whatever_the_others_have() -> None:
    assert compare(CONTROL, "x.control", Found(1, {"cleanup.policy": "compact"}, {}), 16) == []


async def test_says_that_kafka_is_not_there() -> None:
    with pytest.raises(TopicError, match=r"127\.0\.0\.1:1\b.*is Kafka running"):
        await diff_topics(Brokers("127.0.0.1:1"), "x.", 2)


@pytest.mark.kafka
async def test_creates_all_topics_then_has_nothing_to_do(kafka: str, prefix: str) -> None:
    created = await apply_topics(Brokers(kafka), prefix, partitions=2)
    assert {change.topic for change in created} == {prefix + topic.name for topic in TOPICS}
    assert await diff_topics(Brokers(kafka), prefix, 2) == []
    assert await apply_topics(Brokers(kafka), prefix, partitions=2, replication_factor=-1) == []
    await check_topics(Brokers(kafka), prefix, 2)


@pytest.mark.kafka
async def test_puts_settings_right_and_leaves_those_of_others(kafka: str, prefix: str) -> None:
    foreign = {"retention.ms": "1000", "segment.ms": "60000"}
    await create(kafka, NewTopic(prefix + "tasks", 2, 1, topic_configs=foreign))
    changes = await apply_topics(Brokers(kafka), prefix, partitions=2)
    assert f"{prefix}tasks: retention.ms is 1000, must be -1" in map(str, changes)
    settings = await settings_of(kafka, prefix + "tasks")
    assert settings["retention.ms"] == "-1"
    assert settings["segment.ms"] == "60000"


def unseen_at_first(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A broker that has not heard yet of a topic that was made a moment ago, when it is asked for the first time."""
    describe, asked = AIOKafkaAdminClient.describe_topics, []

    async def describe_topics(admin: AIOKafkaAdminClient) -> list[dict[str, object]]:
        asked.append(name)
        found = await describe(admin)
        return [topic for topic in found if len(asked) > 1 or topic["topic"] != name]

    monkeypatch.setattr(AIOKafkaAdminClient, "describe_topics", describe_topics)


@pytest.mark.kafka
async def test_a_topic_that_another_makes_meanwhile_is_put_right(
    kafka: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: two that apply at once, of whom one waits in vain for what neither sets."""
    await create(kafka, NewTopic(prefix + "tasks", 2, 1, topic_configs={"retention.ms": "1000"}))
    unseen_at_first(monkeypatch, prefix + "tasks")
    await apply_topics(Brokers(kafka), prefix, partitions=2, timeout_seconds=10)
    assert (await settings_of(kafka, prefix + "tasks"))["retention.ms"] == "-1"


@pytest.mark.kafka
async def test_a_topic_that_another_makes_meanwhile_with_other_partitions_is_told(
    kafka: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(kafka, NewTopic(prefix + "tasks", 3, 1))
    unseen_at_first(monkeypatch, prefix + "tasks")
    with pytest.raises(TopicError, match="tasks: partitions is 3, must be 2"):
        await apply_topics(Brokers(kafka), prefix, partitions=2, timeout_seconds=10)


@pytest.mark.kafka
async def test_never_changes_a_number_of_partitions(kafka: str, prefix: str) -> None:
    await create(kafka, NewTopic(prefix + "tasks", 3, 1))
    with pytest.raises(TopicError, match=r"tasks: partitions is 3, must be 2.*ODRADEK_PARTITIONS"):
        await apply_topics(Brokers(kafka), prefix, partitions=2)
    missing = {difference.topic for difference in await diff_topics(Brokers(kafka), prefix, 2)}
    assert prefix + "runs" in missing  # nothing was created either


@pytest.mark.kafka
async def test_a_worker_is_told_what_is_missing_and_the_command(kafka: str, prefix: str) -> None:
    with pytest.raises(TopicError, match=r"runs: missing.*`odradek topics apply`"):
        await check_topics(Brokers(kafka), prefix, 2, topics=[RUNS])
