import asyncio

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from odradek_runtime.brokers import Brokers
from odradek_runtime.topics import Found, TopicError, apply_topics, check_topics, compare, diff_topics
from odradek_schemas.topics import CONTROL, LEDGER, RUNS, TASKS, TOPICS

EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


async def create(bootstrap: str, *topics: NewTopic) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin.create_topics(list(topics))
        assert not any(error[1] for error in answer.topic_errors), answer
    finally:
        await admin.close()


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
    for _ in range(200):  # the broker learns of a topic before it learns of the topic's settings
        if (await settings_of(kafka, prefix + "tasks")).get("retention.ms") == "1000":
            break
        await asyncio.sleep(0.05)
    changes = await apply_topics(Brokers(kafka), prefix, partitions=2)
    assert f"{prefix}tasks: retention.ms is 1000, must be -1" in map(str, changes)
    settings = await settings_of(kafka, prefix + "tasks")
    assert settings["retention.ms"] == "-1"
    assert settings["segment.ms"] == "60000"


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
