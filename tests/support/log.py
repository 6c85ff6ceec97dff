"""Asking for runs and counting what the log says of them, as any program outside Odradek could."""

import asyncio
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from odradek_runtime.partitioning import partition_of
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import decode, encode, read_envelope
from odradek_schemas.events import (
    Dataset,
    Event,
    RecordCoordinates,
    RewardAssigned,
    RunFinished,
    RunRequested,
)
from odradek_schemas.topics import BY_NAME, CONTROL

PARTITIONS = 4


@dataclass
class Seen:
    """What a `read_committed` reader sees of one run, by topic."""

    events: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def count(self, topic: str, kind: type[Event]) -> Counter[str]:
        """How many events of `kind` each rollout (or run) has on `topic`."""
        return Counter(e.rollout_id or e.run_id or "" for e in self.events[topic] if isinstance(e, kind))

    def rewards(self) -> list[RewardAssigned]:
        return [event for event in self.events["rewards"] if isinstance(event, RewardAssigned)]


def run_requested(environment: str, model: str, dataset: Path, **wishes: Any) -> RunRequested:
    """A run over the JSONL file `dataset`, with an id that no other has."""
    run = f"{environment.replace('_', '-')}-{time.time_ns()}"
    return RunRequested(
        id=run,
        run_id=run,
        environment=environment,
        model=model,
        dataset=Dataset(uri=dataset.absolute().as_uri(), name=dataset.name),
        **wishes,
    )


class Log:
    """One deployment's topics."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.bootstrap = bootstrap
        self.prefix = prefix

    async def publish(self, topic: str, event: Event) -> None:
        encoded = encode(event, "test")
        partition = 0 if BY_NAME[topic].single else partition_of(event.key, PARTITIONS)
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap) as producer:
            await producer.send_and_wait(
                self.prefix + topic, encoded.value, encoded.key, partition, headers=list(encoded.headers)
            )

    async def start(self, request: RunRequested) -> str:
        await self.publish("runs", request)
        return request.run_id

    async def finished(self, run: str, seconds: float = 90.0) -> RunFinished:
        """Wait for the run's end. Raises TimeoutError."""
        partition = TopicPartition(self.prefix + "runs", partition_of(run, PARTITIONS))
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        async with asyncio.timeout(seconds), consumer:
            consumer.assign([partition])
            while True:
                event = _event("runs", await consumer.getone())
                if isinstance(event, RunFinished) and event.run_id == run:
                    return event

    async def until(self, run: str, topic: str, least: int, seconds: float = 60.0) -> None:
        """Wait until `topic` has `least` events of the run. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while True:
                if len((await self.read(run, topic)).events[topic]) >= least:
                    return
                await asyncio.sleep(0.1)

    async def read(self, run: str, *topics: str) -> Seen:
        """All committed events of the run on `topics`, as they are now."""
        seen = Seen()
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
        )
        async with consumer:
            for topic in topics:
                partitions = [
                    TopicPartition(self.prefix + topic, p)
                    for p in range(1 if topic == CONTROL.name else PARTITIONS)
                ]
                seen.events[topic] = [
                    e async for e in self._scan(consumer, topic, partitions) if e.run_id == run
                ]
        return seen

    async def _scan(self, consumer: AIOKafkaConsumer, topic: str, partitions: list[TopicPartition]) -> Any:
        consumer.assign(partitions)
        ends = await consumer.end_offsets(partitions)
        await consumer.seek_to_beginning(*partitions)
        while [p for p in partitions if await consumer.position(p) < ends[p]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                for raw in records:
                    if raw.value:
                        yield _event(topic, raw)


def _event(topic: str, raw: RawRecord) -> Any:
    where = RecordCoordinates(topic=topic, partition=raw.partition, offset=raw.offset)
    return decode(BY_NAME[topic], read_envelope(raw.headers, where), raw.value or b"", where)
