"""A worker's process with a harness that never yields, and a real broker: the process ends, the note is there."""

import asyncio
import sys
import textwrap

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from odradek_agent_worker.watchdog import EXIT_STUCK
from odradek_schemas.codec import decode, read_envelope
from odradek_schemas.events import RecordCoordinates
from odradek_schemas.topics import JOURNAL

STUCK_WORKER = textwrap.dedent(
    """
    import asyncio, sys
    from odradek.harness import Harness
    from odradek_agent_worker.admission import Admission
    from odradek_agent_worker.fold import JournalFold
    from odradek_agent_worker.note import JournalNote
    from odradek_agent_worker.settings import AgentSettings
    from odradek_agent_worker.watch import Watch
    from odradek_agent_worker.watchdog import Watchdog
    from odradek_schemas.events import RolloutRequested

    class Spins(Harness):
        name = "spins"

        async def run(self, rollout):
            while True:
                pass

    async def main():
        settings = AgentSettings(bootstrap_servers=sys.argv[1], topic_prefix=sys.argv[2])
        watch = Watch()
        Watchdog(watch, 0.3, JournalNote(settings)).start()
        fold = JournalFold(1, lambda name: Spins(), Admission(9), watch, snapshot_after=9, settle_seconds=0)
        fold.accept(RolloutRequested.model_validate_json(sys.argv[3]), None)

    asyncio.run(main())
    """
)


async def read_note(bootstrap, topic):
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 1)])
        async with asyncio.timeout(20):
            raw = await consumer.getone()
    finally:
        await consumer.stop()
    where = RecordCoordinates(topic=topic, partition=1, offset=raw.offset)
    return decode(JOURNAL, read_envelope(raw.headers, where), raw.value, where)


@pytest.mark.kafka
async def test_a_worker_whose_harness_hangs_leaves_a_note_and_ends(kafka, prefix, tools):
    topic = f"{prefix}journal"
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])
    finally:
        await admin.close()

    task = tools.task(harness="spins", session=False).model_dump_json()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", STUCK_WORKER, kafka, prefix, task)
    try:
        async with asyncio.timeout(60):
            status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
    assert status == EXIT_STUCK
    note = await read_note(kafka, topic)
    assert (note.type, note.rollout_id) == ("HarnessStuck", "run/0/0")
    assert note.seconds >= 0.3
