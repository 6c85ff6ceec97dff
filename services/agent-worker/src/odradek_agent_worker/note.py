"""The note about a stuck harness: one record in the journal, written from outside the worker's hanging event loop."""

import asyncio

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from odradek_agent_worker.watch import Suspect
from odradek_runtime.logs import get_logger
from odradek_runtime.names import Names
from odradek_runtime.settings import WorkerSettings
from odradek_schemas.codec import encode
from odradek_schemas.events import HarnessStuck
from odradek_schemas.topics import AGENT, JOURNAL

NOTE_SECONDS = 5.0
"""Deadline of writing the note. Without it the next owner finds the harness stuck by itself, and writes its own."""

log = get_logger(__name__)


def stuck_event(suspect: Suspect, seconds: float) -> HarnessStuck:
    return HarnessStuck(
        id=f"{suspect.rollout_id}/stuck",
        run_id=suspect.run_id,
        rollout_id=suspect.rollout_id,
        seconds=round(seconds, 3),
    )


class JournalNote:
    """Writes notes with a producer of its own, outside any transaction: the partition's is in the hanging loop."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._brokers = settings.brokers
        self._topic = Names(settings.topic_prefix).topic(JOURNAL.name)

    def __call__(self, suspect: Suspect, seconds: float) -> None:
        try:
            asyncio.run(asyncio.wait_for(self._write(suspect, seconds), NOTE_SECONDS))
        except (KafkaError, OSError, TimeoutError) as error:
            log.error("the note could not be written", rollout_id=suspect.rollout_id, reason=repr(error))

    async def _write(self, suspect: Suspect, seconds: float) -> None:
        record = encode(stuck_event(suspect, seconds), AGENT)
        producer = AIOKafkaProducer(**self._brokers.client(), acks="all")
        try:
            await producer.start()
            await producer.send_and_wait(
                self._topic,
                record.value,
                record.key,
                partition=suspect.partition,
                headers=list(record.headers),
            )
        finally:
            await producer.stop()
