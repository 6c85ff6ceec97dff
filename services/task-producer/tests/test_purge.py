from collections.abc import Mapping
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.positions import Position, format_restore_point, format_unfinished
from odradek_runtime.topics import apply_topics
from odradek_schemas.topics import TOPICS
from odradek_task_producer.metrics import ProducerMetrics
from odradek_task_producer.purge import purge_offsets, unread_bounds
from odradek_task_producer.purger import Purger
from odradek_task_producer.settings import ProducerSettings

AGENT, VERIFIER, GATEWAY = "agent-worker", "verifier-worker", "model-gateway"
INPUTS = {
    "task-producer": ("runs", "run-progress", "rewards"),
    AGENT: ("tasks", "model-results", "observations"),
    "env-worker": ("tool-actions",),
    VERIFIER: ("trajectories", "judge-results", "rescores"),
    GATEWAY: ("model-calls",),
}
"""What each worker commits; its own tests hold it to that."""


def test_what_all_readers_have_done_with_may_go() -> None:
    commits = {
        AGENT: {("model-results", 0): Position(90)},
        GATEWAY: {("model-calls", 0): Position(80, unfinished=(41, 70))},
    }
    assert unread_bounds(commits, 1) == {("model-results", 0): 90, ("model-calls", 0): 41}


def test_every_topic_that_is_purged_has_readers_that_commit() -> None:
    """Caught: a reader that does not exist yet, for which a topic would be kept for ever."""
    positions = {(topic.name, 0): Position(7, restore_point=7) for topic in TOPICS}
    commits = {
        worker: {part: at for part, at in positions.items() if part[0] in inputs}
        for worker, inputs in INPUTS.items()
    }
    assert {topic for topic, _ in unread_bounds(commits, 1)} == {t.name for t in TOPICS if t.purged}


def test_nothing_goes_while_a_reader_has_no_position() -> None:
    commits = {AGENT: {("model-results", 1): Position(50)}}
    bounds = unread_bounds(commits, 2)
    assert ("model-results", 0) not in bounds
    assert bounds["model-results", 1] == 50


def test_the_journal_goes_up_to_the_restore_point() -> None:
    commits = {AGENT: {("tasks", 0): Position(500, restore_point=33), ("tasks", 1): Position(500)}}
    bounds = unread_bounds(commits, 2)
    assert bounds["journal", 0] == 33
    assert ("journal", 1) not in bounds
    assert bounds["tasks", 0] == 500


def test_what_is_kept_for_ever_or_compacted_never_goes() -> None:
    everything = {
        (topic, 0): Position(9, restore_point=9) for topic in ("runs", "rewards", "ledger", "tasks")
    }
    commits = dict.fromkeys((AGENT, VERIFIER, GATEWAY, "task-producer", "env-worker"), everything)
    assert {topic for topic, _ in unread_bounds(commits, 1)} == {"tasks", "journal"}


@pytest.mark.parametrize(
    ("unread", "first_kept", "start", "expected"),
    [(50, None, 0, 50), (50, 20, 0, 20), (50, 80, 0, 50), (50, None, 50, None), (50, 10, 10, None)],
)
def test_only_what_is_read_and_old_goes(
    unread: int, first_kept: int | None, start: int, expected: int | None
) -> None:
    part = ("tasks", 0)
    found = purge_offsets({part: unread}, {part: first_kept}, {part: start})
    assert found == ({} if expected is None else {part: expected})


async def fill(bootstrap: str, topic: str, records: int) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(records):
            await producer.send_and_wait(topic, b"x", partition=0)


async def commit(bootstrap: str, group: str, positions: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
    async with AIOKafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(list(positions))
        await consumer.commit(positions)


async def starts(bootstrap: str, *topics: str) -> list[int]:
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        parts = [TopicPartition(topic, 0) for topic in topics]
        found = await consumer.beginning_offsets(parts)
        return [found[part] for part in parts]


@pytest.mark.kafka
async def test_purges_a_real_broker_up_to_what_everybody_has_read(
    kafka: str, prefix: str, tmp_path: Path
) -> None:
    await apply_topics(Brokers(kafka), prefix, partitions=1)
    tasks, results, journal = (prefix + name for name in ("tasks", "model-results", "journal"))
    for topic in (tasks, results, journal):
        await fill(kafka, topic, 10)
    at = {topic: TopicPartition(topic, 0) for topic in (tasks, results, journal)}
    await commit(
        kafka,
        prefix + AGENT,
        {
            at[tasks]: OffsetAndMetadata(8, format_restore_point(5)),
        },
    )
    settings = ProducerSettings(
        bootstrap_servers=kafka, topic_prefix=prefix, partitions=1, blob_store=tmp_path.as_uri(), keep_days=0
    )
    assert await Purger(settings, ProducerMetrics()).purge() == {("tasks", 0): 8, ("journal", 0): 5}
    unfinished = format_unfinished(9, [4, 6])
    await commit(kafka, prefix + AGENT, {at[results]: OffsetAndMetadata(9, unfinished)})
    assert await Purger(settings, ProducerMetrics()).purge() == {("model-results", 0): 4}
    assert await starts(kafka, tasks, results, journal) == [8, 4, 5]
    young = settings.model_copy(update={"keep_days": 1.0})
    await commit(kafka, prefix + AGENT, {at[results]: OffsetAndMetadata(9, "")})
    assert await Purger(young, ProducerMetrics()).purge() == {}
