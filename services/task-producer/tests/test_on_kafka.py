"""The real process on a real broker: killed in the middle of a run, it plans each rollout once and ends the run once."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord

from odradek.plugins import load_environment
from odradek_runtime.brokers import Brokers
from odradek_runtime.partitioning import partition_of
from odradek_runtime.sealing import Opener, create_keys
from odradek_runtime.topics import apply_topics
from odradek_schemas.codec import decode, encode, read_envelope
from odradek_schemas.events import Dataset, Event, RecordCoordinates, RolloutRequested, RunRequested
from odradek_schemas.topics import BY_NAME

PARTITIONS = 2
COMMAND = Path(sys.executable).with_name("odradek-task-producer")


class Producer:
    """The service as a process that can be killed."""

    def __init__(self, kafka: str, prefix: str, folder: Path) -> None:
        create_keys(folder / "public", folder / "private")
        self._log = (folder / "log").open("ab")
        self._env = os.environ | {
            "ODRADEK_BOOTSTRAP_SERVERS": kafka,
            "ODRADEK_TOPIC_PREFIX": prefix,
            "ODRADEK_PARTITIONS": str(PARTITIONS),
            "ODRADEK_BLOB_STORE": (folder / "blobs").as_uri(),
            "ODRADEK_WORKER_ID": "task-producer-0",
            "ODRADEK_ADMISSION_CHUNK": "3",
            "ODRADEK_SEALING_PUBLIC_KEY_FILE": str(folder / "public"),
        }
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            COMMAND, env=self._env, stdout=self._log, stderr=self._log
        )

    async def kill(self) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    def close(self) -> None:
        self._log.close()


class Workers:
    """Plays what comes out of `tasks`: every rollout gets its reward."""

    def __init__(self, kafka: str, prefix: str, reward_for: Any) -> None:
        self.kafka, self.prefix, self.reward_for = kafka, prefix, reward_for
        self.seen: list[RolloutRequested] = []
        self.ends: list[Any] = []

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        self.reader = AIOKafkaConsumer(
            self.prefix + "tasks",
            self.prefix + "runs",
            bootstrap_servers=self.kafka,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        async with self.reader, AIOKafkaProducer(bootstrap_servers=self.kafka) as self.writer:
            yield

    async def write(self, event: Event, topic: str, partition: int) -> None:
        encoded = encode(event, "test")
        await self.writer.send_and_wait(
            self.prefix + topic,
            encoded.value,
            encoded.key,
            partition=partition,
            headers=list(encoded.headers),
        )

    async def until_seen(self, rollouts: int) -> None:
        async with asyncio.timeout(80):
            while len(self.seen) < rollouts:
                await self._round()

    async def until_over(self) -> None:
        async with asyncio.timeout(80):
            while not self.ends:
                await self._round()

    async def _round(self) -> None:
        for records in (await self.reader.getmany(timeout_ms=200)).values():
            for record in records:
                await self._take(record)

    async def _take(self, record: "ConsumerRecord[bytes, bytes]") -> None:
        topic = record.topic.removeprefix(self.prefix)
        where = RecordCoordinates(topic=topic, partition=record.partition, offset=record.offset)
        event = decode(BY_NAME[topic], read_envelope(record.headers, where), record.value or b"", where)
        if isinstance(event, RolloutRequested):
            assert record.partition == partition_of(event.rollout_id, PARTITIONS)
            self.seen.append(event)
            await self.write(self.reward_for(event), "rewards", record.partition)
        elif event.type == "RunFinished":
            self.ends.append(event)


@pytest.fixture
def producer(kafka: str, prefix: str, tmp_path: Path) -> Iterator[Producer]:
    producer = Producer(kafka, prefix, tmp_path)
    yield producer
    producer.close()


@pytest.mark.kafka
@pytest.mark.slow
async def test_a_killed_producer_plans_each_rollout_once_and_ends_the_run_once(
    kafka: str, prefix: str, producer: Producer, tmp_path: Path, reward_for: Any
) -> None:
    await apply_topics(Brokers(kafka), prefix, PARTITIONS)
    environment = load_environment("mcqa")
    run = RunRequested(
        id="r",
        run_id="r",
        environment="mcqa",
        dataset=Dataset(uri=environment.examples().as_uri(), name="examples.jsonl"),
        model="m",
        samples=3,
        limit=20,
        concurrency=5,
    )
    workers = Workers(kafka, prefix, reward_for)
    await producer.start()
    try:
        async with workers.connected():
            await workers.write(run, "runs", partition_of("r", PARTITIONS))
            await workers.until_seen(20)
            await producer.kill()
            await producer.start()
            await workers.until_over()
            await workers._round()
    finally:
        await producer.kill()
    assert Counter(r.rollout_id for r in workers.seen) == {
        f"r/{t}/{s}": 1 for t in range(20) for s in range(3)
    }
    (end,) = workers.ends
    assert (end.status, end.planned, end.counts.finished, end.counts.reward_sum) == ("finished", 60, 60, 60.0)
    sealed = {r.sealed_answer for r in workers.seen if r.rollout_id.startswith("r/0/")}
    answer = Opener.from_file(tmp_path / "private").open(str(sealed.pop()))
    assert environment.Answer is not None
    environment.Answer.model_validate(answer)
