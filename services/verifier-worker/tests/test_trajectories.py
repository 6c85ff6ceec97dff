"""`trajectories` read apart from the worker's position, on the real broker."""

from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.structs import TopicPartition

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.brokers import Brokers
from odradek_runtime.intake import Intake
from odradek_runtime.names import Names
from odradek_schemas.codec import InvalidValue, encode
from odradek_schemas.events import RecordCoordinates, TrajectoryFinished
from odradek_verifier_worker.trajectories import Trajectories

pytestmark = pytest.mark.kafka


async def test_pieces_go_on_where_they_ended_and_pass_over_what_was_deleted(
    kafka: str, prefix: str, finished: Callable[..., TrajectoryFinished]
) -> None:
    names = Names(prefix)
    topic = names.topic("trajectories")
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        for sample in range(5):
            record = encode(finished(sample=sample), "test")
            await producer.send_and_wait(topic, record.value, record.key, 0, headers=list(record.headers))
    reader = Trajectories(
        Brokers(kafka), names, Intake("verifier-worker", open_blob_store("file:///nowhere"))
    )

    first = await reader.piece(0, 0, 5, most=2)
    second = await reader.piece(0, first.next, 5, most=2)
    last = await reader.piece(0, second.next, 5, most=2)
    found = [record.envelope.rollout_id for piece in (first, second, last) for record in piece.records]
    assert found == [f"run/0/{sample}" for sample in range(5)]
    assert (first.next, second.next, last.next) == (2, 4, 5)

    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=3)})
    await admin.close()
    left = await reader.piece(0, 0, 5)
    assert [record.envelope.rollout_id for record in left.records] == ["run/0/3", "run/0/4"]
    assert (
        await reader.read(RecordCoordinates(topic="trajectories", partition=0, offset=3))
    ).rollout_id == "run/0/3"
    with pytest.raises(InvalidValue, match="not in the log any more"):
        await reader.read(RecordCoordinates(topic="trajectories", partition=0, offset=1))
