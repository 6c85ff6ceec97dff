"""What the tests of the runtime share: a topic set of their own, tiny processors, workers, and ways to look.

Imported by tests (conftest puts this folder on the path) and by the worker processes that they start.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.admin.new_partitions import NewPartitions
from aiokafka.structs import TopicPartition

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.brokers import Brokers
from odradek_runtime.folds import Fold, FoldContext, StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor, Handler, HandlerContext
from odradek_runtime.log_reader import log_bounds
from odradek_runtime.metrics import Metrics
from odradek_runtime.positions import Position, parse_position
from odradek_runtime.progress import read_positions
from odradek_runtime.records import Output, Outputs, Record
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.topics import COMPACTED
from odradek_runtime.tuning import tune_aiokafka
from odradek_runtime.worker import Worker
from odradek_schemas.codec import RecordError, decode, encode, read_envelope
from odradek_schemas.events import (
    Event,
    HarnessStuck,
    ModelCallCompleted,
    ModelCallFailed,
    ModelCallRequested,
    RecordCoordinates,
)
from odradek_schemas.failures import Failure, FailureKind, Stage
from odradek_schemas.messages import Message, Usage
from odradek_schemas.topics import BY_NAME, positions_topic

CALLS, RESULTS, JOURNAL, LETTERS = "model-calls", "model-results", "journal", "dead-letters"
TOPICS = ("control", CALLS, RESULTS, JOURNAL, "sessions", "ledger", LETTERS)
"""What tests write to and read, of the declared topics."""
PROCESSORS = ("echo", "tally", "join", "raises", "cancels", "direct", "sessions", "counting")
"""What tests call their processors."""
DEADLINE = 25.0
"""Seconds after which a wait of a test has failed; the machine may be busy."""


def call(number: int, rollout: str | None = None, text: str = "?") -> ModelCallRequested:
    """Input number `number`; each is a rollout of its own unless said otherwise."""
    rollout_id = rollout or f"run/{number}/0"
    return ModelCallRequested(
        id=f"call-{number}",
        run_id="run",
        rollout_id=rollout_id,
        model="m",
        messages=[Message(role="user", content=text)],
        deadline=datetime.now(UTC) + timedelta(hours=1),
    )


def reply(event: ModelCallRequested, text: str = "!") -> Output:
    return Output(
        RESULTS,
        ModelCallCompleted(
            id=f"{event.id}/result",
            run_id=event.run_id,
            rollout_id=event.rollout_id,
            call_id=event.id,
            model="m",
            message=Message(role="assistant", content=text),
            finish_reason="stop",
            usage=Usage(),
            latency_ms=0,
        ),
    )


def refusal(record: Record, error: RecordError) -> Output:
    """The typed failure for a record that can't be read, from its headers."""
    return Output(
        RESULTS,
        ModelCallFailed(
            id=f"{record.envelope.id}/result",
            run_id=record.envelope.run_id or "",
            rollout_id=record.envelope.rollout_id or "",
            call_id=record.envelope.id,
            failure=Failure(kind=FailureKind.UNREADABLE_RECORD, stage=Stage.MODEL, message=error.reason),
        ),
    )


class EchoHandler:
    """Answers each call. The test holds answers back with `gate`, and sees what was begun, ended and cancelled."""

    def __init__(self, echo: "Echo", partition: int) -> None:
        self.echo = echo
        self.partition = partition
        self.closed = False
        self.controls: list[Event] = []

    def restore(self, key: str, event: Event | None) -> None:
        raise AssertionError("there is no changelog")

    async def handle(self, event: Event, record: Record) -> Outputs:
        assert isinstance(event, ModelCallRequested)
        echo = self.echo
        echo.begun.append(event.id)
        echo.running += 1
        echo.most_running = max(echo.most_running, echo.running)
        try:
            await echo.work(event, self)
        except asyncio.CancelledError:
            echo.cancelled.append(event.id)
            raise
        finally:
            echo.running -= 1
        echo.ended.append(event.id)
        return echo.outputs(event)

    def reject(self, record: Record, error: RecordError) -> Outputs:
        return [refusal(record, error)]

    def control(self, event: Event) -> None:
        self.controls.append(event)

    async def close(self) -> None:
        self.closed = True


@dataclass
class Echo:
    """A concurrent processor of EchoHandlers."""

    max_in_flight: int = 64
    ordered: bool = False
    inputs: tuple[str, ...] = (CALLS,)
    name: str = "echo"
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    handlers: list[EchoHandler] = field(default_factory=list)
    running: int = 0
    most_running: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    async def work(self, event: ModelCallRequested, handler: EchoHandler) -> None:
        await self.gate.wait()

    def outputs(self, event: ModelCallRequested) -> Outputs:
        return [reply(event)]

    def processor(self) -> ConcurrentProcessor:
        return ConcurrentProcessor(
            self.name,
            self.inputs,
            self._create,
            ordered=self.ordered,
            max_in_flight=self.max_in_flight,
        )

    def _create(self, context: HandlerContext) -> Handler:
        handler = EchoHandler(self, context.partition)
        self.handlers.append(handler)
        return handler


class TallyFold:
    """Numbers the calls of its partition, and answers each with its number. Its changelog: one record a call."""

    def __init__(self, tally: "Tally", context: FoldContext) -> None:
        self.tally = tally
        self.context = context
        self.seen: list[str] = []
        self.restored_from: list[int] = []
        self.controls: list[Event] = []
        self.records: list[Record | None] = []
        self.closed = False

    def restore(self, event: Event, offset: int) -> None:
        self.restored_from.append(offset)
        self.seen.append(event.id)

    def restored(self) -> Outputs:
        return self.tally.restored(self)

    def begin(self, position: int, now: datetime) -> None:
        pass

    def accept(self, event: Event, record: Record | None) -> Outputs:
        self.records.append(record)
        if not isinstance(event, ModelCallRequested):
            self.controls.append(event)
            return []
        self.seen.append(event.id)
        return self.tally.outputs(event, len(self.seen))

    def reject(self, record: Record, error: RecordError) -> Outputs:
        return [refusal(record, error)]

    def fire(self, now: datetime) -> Outputs:
        return []

    def next_timer(self) -> datetime | None:
        return None

    def wants(self, topic: str) -> bool:
        return self.tally.most is None or len(self.seen) < self.tally.most

    def restore_point(self) -> int | None:
        return self.tally.restore_point

    def close(self) -> None:
        self.closed = True


@dataclass
class Tally:
    """A stateful processor of TallyFolds."""

    name: str = "tally"
    anchored: bool = True
    most: int | None = None
    restore_point: int | None = 0
    folds: list[TallyFold] = field(default_factory=list)
    max_cycle_records: int = 2000

    def outputs(self, event: ModelCallRequested, number: int) -> Outputs:
        return [self.entry(event), reply(event, str(number))]

    def restored(self, fold: TallyFold) -> Outputs:
        return []

    def entry(self, event: ModelCallRequested) -> Output:
        return Output(
            JOURNAL,
            HarnessStuck(id=event.id, run_id=event.run_id, rollout_id=event.rollout_id, seconds=0),
        )

    def processor(self) -> StatefulProcessor:
        return StatefulProcessor(
            self.name,
            (CALLS,),
            JOURNAL,
            self._create,
            anchor=CALLS if self.anchored else None,
            max_cycle_records=self.max_cycle_records,
        )

    def _create(self, context: FoldContext) -> Fold:
        fold = TallyFold(self, context)
        self.folds.append(fold)
        return fold


@dataclass(frozen=True)
class Seen:
    """A record as a reader finds it. `event` is None for a tombstone and for what is not an event."""

    partition: int
    offset: int
    key: bytes | None
    event: Any
    headers: dict[str, bytes]


class Running:
    """A worker that runs in the test's event loop."""

    def __init__(self, worker: Worker, metrics: Metrics) -> None:
        self.worker = worker
        self.metrics = metrics
        self.task = asyncio.ensure_future(worker.run())

    @property
    def numbers(self) -> set[int]:
        """Partition numbers that it works on."""
        return set(self.worker._owners)

    async def stop(self) -> None:
        """Drain and leave, within the deadline."""
        self.worker.stop()
        await asyncio.wait_for(asyncio.shield(self.task), DEADLINE)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


class Program:
    """A worker that runs as a process of its own, and can be killed."""

    def __init__(self, arguments: list[str], environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as sink:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("runtime_program.py")), *arguments],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end; returns the exit status."""
        return await asyncio.wait_for(asyncio.to_thread(self.process.wait, DEADLINE), DEADLINE + 1)

    def events(self, name: str) -> list[dict[str, Any]]:
        """What it has logged under this name."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]


class Lab:
    def __init__(self, bootstrap: str, prefix: str, folder: Path, partitions: int = 2) -> None:
        self.bootstrap = bootstrap
        self.prefix = prefix
        self.folder = folder
        self.partitions = partitions
        self.blobs = open_blob_store(f"file://{folder}/blobs")
        self._running: list[Running] = []
        self._programs: list[Program] = []
        self._producer: AIOKafkaProducer | None = None
        self._admin: AIOKafkaAdminClient | None = None
        self._readers: dict[str, AIOKafkaConsumer] = {}

    async def set_up(self) -> None:
        tune_aiokafka()
        await self._keep_positions_of(*PROCESSORS)
        self._producer = AIOKafkaProducer(bootstrap_servers=self.bootstrap, max_request_size=4_000_000)
        await self._producer.start()

    async def tear_down(self) -> None:
        for program in self._programs:
            program.process.kill()
            program.process.wait(DEADLINE)
        for running in self._running:
            running.worker.stop()
        tasks = [running.task for running in self._running]
        if tasks:
            _done, late = await asyncio.wait(tasks, timeout=DEADLINE)
            assert not late, "a worker did not stop"
            for task in tasks:
                if not task.cancelled():
                    task.exception()
        if self._producer is not None:
            await self._producer.stop()
        for reader in self._readers.values():
            await reader.stop()
        if self._admin is not None:
            await self._admin.close()

    async def grow(self, partitions: int, *topics: str) -> None:
        """Add partitions to some topics; workers that are started from now on count on them."""
        assert self._producer is not None
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        await admin.create_partitions({self.prefix + topic: NewPartitions(partitions) for topic in topics})
        await admin.close()
        self.partitions = partitions
        while len(await self._producer.partitions_for(self.prefix + CALLS)) < partitions:
            await self._producer.client.force_metadata_update()

    def settings(self, **changes: Any) -> WorkerSettings:
        return WorkerSettings(
            **{
                "bootstrap_servers": self.bootstrap,
                "topic_prefix": self.prefix,
                "partitions": self.partitions,
                "blob_store": f"file://{self.folder}/blobs",
                "session_timeout_seconds": 3.0,
                "drain_timeout_seconds": 5.0,
                **changes,
            }
        )

    def start(self, processor: StatefulProcessor | ConcurrentProcessor, **changes: Any) -> Running:
        """A worker that joins now; `owning` waits until it owns."""
        metrics = Metrics()
        running = Running(Worker(processor, self.settings(**changes), self.blobs, metrics), metrics)
        self._running.append(running)
        return running

    def start_program(self, *arguments: str, delay: float = 0.0, **changes: Any) -> Program:
        """A worker in a process: `echo` or `tally`, and `service` for the whole of `run_service`."""
        settings = self.settings(**changes).model_dump(mode="json", exclude_none=True)
        environment = {f"ODRADEK_{name.upper()}": str(value) for name, value in settings.items()}
        program = Program(
            list(arguments),
            {**environment, "PROGRAM_DELAY": str(delay)},
            self.folder / f"program-{len(self._programs)}.log",
        )
        self._programs.append(program)
        return program

    async def owning(self, *running: Running, numbers: Iterable[int] | None = None) -> None:
        """Wait until the workers own all `numbers` between them, and nobody owns one twice."""
        wanted = sorted(range(self.partitions) if numbers is None else numbers)

        def settled() -> bool:
            for one in running:
                if one.task.done():
                    one.task.result()
            return sorted(number for one in running for number in one.numbers) == wanted and all(
                one.worker.ready for one in running
            )

        await until(settled)

    async def send(self, topic: str, events: Iterable[Event], partition: int = 0) -> list[int]:
        """Write events as they are, without a transaction. Returns their offsets."""
        encoded = [encode(event, "test") for event in events]
        return [await self.send_raw(topic, e.key, e.value, e.headers, partition) for e in encoded]

    async def send_raw(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes]] = (),
        partition: int = 0,
    ) -> int:
        assert self._producer is not None
        sent = await self._producer.send_and_wait(
            self.prefix + topic, value, key, partition, headers=list(headers)
        )
        return int(sent.offset)

    async def read(self, topic: str, isolation: str = "read_committed") -> list[Seen]:
        """All records of a topic, by partition and offset, as a reader sees them now."""
        count = 1 if BY_NAME[topic].single else self.partitions
        partitions = [TopicPartition(self.prefix + topic, number) for number in range(count)]
        consumer = await self._reader(isolation)
        consumer.assign(partitions)
        ends = await self._ends(consumer, partitions)
        for partition in partitions:
            consumer.seek(partition, 0)
        found: list[Seen] = []
        deadline = time.monotonic() + DEADLINE
        for partition in partitions:
            while await consumer.position(partition) < ends[partition]:
                assert time.monotonic() < deadline, f"{partition} could not be read to its end"
                for tp, records in (await consumer.getmany(timeout_ms=100)).items():
                    found += [_seen(topic, tp.partition, record) for record in records]
        return sorted(found, key=lambda seen: (seen.partition, seen.offset))

    async def answers(self) -> list[str]:
        """Ids of the calls that have been answered, as a read_committed reader counts them."""
        return sorted(seen.event.call_id for seen in await self.read(RESULTS))

    async def answered(self, count: int) -> list[Seen]:
        """Wait until there are `count` committed results."""
        found: list[Seen] = []

        async def enough() -> bool:
            found[:] = await self.read(RESULTS)
            return len(found) >= count

        await until_async(enough)
        return found

    async def committed(self, worker: str, topic: str = CALLS) -> list[Position]:
        """Committed positions of a worker, by partition; offset -1 where there is none."""
        kept = [
            TopicPartition(self.prefix + positions_topic(worker), number) for number in range(self.partitions)
        ]
        bounds = await log_bounds(Brokers(self.bootstrap), kept)
        found = [
            await read_positions(Brokers(self.bootstrap), partition, *bounds[partition]) for partition in kept
        ]
        return [parse_position(*positions.get(topic, (-1, ""))) for positions in found]

    async def told(self, worker: str, topic: str = CALLS) -> list[Position]:
        """What a worker's group was told, by partition; offset -1 where nothing."""
        admin = await self._asker()
        partitions = [TopicPartition(self.prefix + topic, number) for number in range(self.partitions)]
        found = await admin.list_consumer_group_offsets(self.prefix + worker, partitions=partitions)
        return [parse_position(found[tp].offset, found[tp].metadata) for tp in partitions]

    async def _keep_positions_of(self, *processors: str) -> None:
        """Topics for the positions of processors that only tests have."""
        new = [
            NewTopic(self.prefix + positions_topic(name), self.partitions, 1, topic_configs=COMPACTED)
            for name in processors
        ]
        await (await self._asker()).create_topics(new)

    async def members(self, worker: str) -> set[str]:
        """Ids of the members that the broker counts to a worker's group."""
        (answer,) = await (await self._asker()).describe_consumer_groups([self.prefix + worker])
        ((_error, _group, _state, _type, _protocol, members, *_more),) = answer.groups
        return {member[0] for member in members}

    async def ends(self, topic: str, isolation: str = "read_uncommitted") -> list[int]:
        partitions = [TopicPartition(self.prefix + topic, number) for number in range(self.partitions)]
        ends = await (await self._reader(isolation)).end_offsets(partitions)
        return [ends[partition] for partition in partitions]

    async def _ends(
        self, consumer: AIOKafkaConsumer, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The ends that `consumer` may see. The markers of a commit follow its answer: they are waited for a while."""
        everything = await (await self._reader("read_uncommitted")).end_offsets(partitions)
        until_markers = time.monotonic() + 2
        while True:
            ends: dict[TopicPartition, int] = await consumer.end_offsets(partitions)
            if ends == everything or time.monotonic() > until_markers:
                return ends
            everything = await (await self._reader("read_uncommitted")).end_offsets(partitions)
            await asyncio.sleep(0.02)

    async def _reader(self, isolation: str) -> AIOKafkaConsumer:
        if isolation not in self._readers:
            self._readers[isolation] = AIOKafkaConsumer(
                bootstrap_servers=self.bootstrap,
                isolation_level=isolation,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            await self._readers[isolation].start()
        return self._readers[isolation]

    async def _asker(self) -> AIOKafkaAdminClient:
        if self._admin is None:
            self._admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await self._admin.start()
        return self._admin

    async def set_largest_message(self, topic: str, size: int) -> None:
        admin = await self._asker()
        configs = {"max.message.bytes": str(size), "retention.ms": "-1", "retention.bytes": "-1"}
        resource = ConfigResource(ConfigResourceType.TOPIC, self.prefix + topic, configs)
        await admin.alter_configs([resource])

        async def known() -> bool:
            (answer,) = await admin.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, resource.name)]
            )
            return ("max.message.bytes", str(size)) in {entry[:2] for entry in answer.resources[0][4]}

        await until_async(known)
        await asyncio.sleep(0.5)  # the log learns of it after whoever answers that question

    @asynccontextmanager
    async def transactional(self, transactional_id: str, timeout_ms: int = 10_000) -> AsyncIterator[Any]:
        """A producer with any transactional id, begun: another owner, or somebody who got stuck."""
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
        )
        await producer.start()
        try:
            yield producer
        finally:
            with suppress(Exception):
                await producer.stop()

    def transactional_id(self, worker: str, partition: int) -> str:
        return f"{self.prefix}{worker}-{partition}"


async def until(probe: Callable[[], bool], seconds: float = DEADLINE) -> None:
    """Wait until `probe` says yes; fail at the deadline."""

    async def ask() -> bool:
        return probe()

    await until_async(ask, seconds)


async def until_async(probe: Callable[[], Awaitable[bool]], seconds: float = DEADLINE) -> None:
    deadline = time.monotonic() + seconds
    while not await probe():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {probe.__qualname__}"
        await asyncio.sleep(0.04)


def _seen(topic: str, partition: int, record: Any) -> Seen:
    at = RecordCoordinates(topic=topic, partition=partition, offset=record.offset)
    event = None
    if record.value is not None:
        with suppress(RecordError):
            envelope = read_envelope(record.headers, at)
            if envelope.dataref is None:
                event = decode(BY_NAME[topic], envelope, record.value, at)
    return Seen(partition, record.offset, record.key, event, dict(record.headers))
