"""Three brokers, of which one dies in mid-run."""

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from tests.docker.playing import play
from tests.docker.stack import DockerStack

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900, func_only=True)]


async def test_a_killed_broker_loses_nothing(three_brokers: DockerStack) -> None:
    for topic, replicas in (await replicas_of(three_brokers)).items():
        assert replicas == 3, topic
    run = await play(three_brokers)
    three_brokers.compose("kill", "--signal", "KILL", "kafka-2")
    await run.ends_clean()
    assert not three_brokers.containers("kafka-2"), "all that was played without it"


async def replicas_of(stack: DockerStack) -> dict[str, int]:
    """The fewest replicas of a partition, by topic; Kafka's own topics among them."""
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.bootstrap)
    await admin.start()
    try:
        topics = await admin.describe_topics()
    finally:
        await admin.close()
    return {topic["topic"]: min(len(one["replicas"]) for one in topic["partitions"]) for topic in topics}
