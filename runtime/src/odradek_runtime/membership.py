"""One worker's place in its consumer group, and the loop that fetches records for the partition numbers it owns.

aiokafka goes on fetching while `on_partitions_assigned` runs, and starts at the committed offset. So a newly assigned
partition is paused at once and its records are ignored until its owner is published, which seeks it; nothing is
dropped, since the seek fetches again whatever was ignored.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.errors import NoOffsetForPartitionError
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from odradek_runtime import tuning
from odradek_runtime.assignor import NumberAssignor
from odradek_runtime.leaving import stopped
from odradek_runtime.names import Names
from odradek_runtime.progress import Positions
from odradek_runtime.records import RawRecord
from odradek_runtime.settings import WorkerSettings

LOOK_SECONDS = 2.0


class Assigned(Protocol):
    """What the worker does with an assignment. Both are called without an await in between."""

    def on_assigned(self, numbers: frozenset[int], generation: int) -> None: ...

    def deliver(self, topic: str, number: int, records: list[RawRecord]) -> None: ...


class Membership(ConsumerRebalanceListener):  # type: ignore[misc]
    """A group consumer over a worker's input topics, by partition number."""

    def __init__(self, worker: str, inputs: tuple[str, ...], names: Names, settings: WorkerSettings) -> None:
        self._inputs = inputs
        self._names = names
        self._assignor = NumberAssignor(settings.partitions)
        self._generation = -1
        self._failure: Exception | None = None
        self._numbers: frozenset[int] = frozenset()
        self._paused: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, int] = {}
        self._told: dict[TopicPartition, OffsetAndMetadata] = {}
        self._assigned: Assigned | None = None
        self._session_seconds = settings.session_timeout_seconds
        self._heard = 0.0
        self._began = time.monotonic()
        self._consumer = AIOKafkaConsumer(
            **settings.brokers.client(),
            group_id=names.group(worker),
            group_instance_id=settings.worker_id,
            client_id=settings.worker_id or worker,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            partition_assignment_strategy=(self._assignor,),
            session_timeout_ms=int(settings.session_timeout_seconds * 1000),
            heartbeat_interval_ms=int(settings.session_timeout_seconds * 1000 / 4),
            rebalance_timeout_ms=int(settings.session_timeout_seconds * 2000),
            fetch_max_wait_ms=tuning.FETCH_MAX_WAIT_MS,
            retry_backoff_ms=tuning.CONSUMER_BACKOFF_MS,
        )

    @property
    def generation(self) -> int:
        """The group's generation in which the numbers were assigned; -1 before the first."""
        return self._generation

    @property
    def settled(self) -> bool:
        """Whether the assignment is of the generation that the coordinator last told: no new one has begun."""
        return self._generation == self._coordinator_generation()

    def owns(self, number: int, generation: int) -> bool:
        """Whether `number` is still assigned, in the generation in which it was, and no new one has begun."""
        return number in self._numbers and generation == self._generation and self.settled

    @property
    def holds(self) -> bool:
        """Whether the group has heard of this member lately enough to have given its numbers to nobody else.

        A process that was stopped wakes in the belief that all is as it was. Its commits are fenced; what it begins
        before it learns so would be done twice.
        """
        return time.monotonic() - self._heard < self._session_seconds

    @property
    def silence_seconds(self) -> float:
        """Since the last heartbeat that was answered well was sent; before the first, since the beginning."""
        return time.monotonic() - max(self._heard, self._began)

    async def join(self, assigned: Assigned) -> None:
        """Start the consumer; assignments and records go to `assigned`."""
        self._assigned = assigned
        await self._consumer.start()
        self._listen_to_heartbeats()
        self._consumer.subscribe([self._names.topic(topic) for topic in self._inputs], listener=self)

    def ignore_assignments(self) -> None:
        """What the group still assigns is nobody's: a rebalance may end while the worker takes its leave."""
        self._assigned = None

    async def leave(self, *, rejoining: bool = False) -> None:
        """Leave the group and stop. A static member's place is given up too, unless it comes back at once."""
        coordinator = self._consumer._coordinator
        if coordinator is not None and not rejoining and hasattr(coordinator, "_group_instance_id"):
            # aiokafka sends no LeaveGroup for static members: the partitions would wait for the session timeout.
            coordinator._group_instance_id = None
        await stopped(self._consumer)

    async def poll(self, timeout_seconds: float) -> int:
        """Fetch once and deliver what came, or wait `timeout_seconds` for it; returns how many records came."""
        assert self._assigned is not None
        if self._failure is not None:
            raise self._failure
        try:
            fetched = await self._consumer.getmany(timeout_ms=int(timeout_seconds * 1000))
        except NoOffsetForPartitionError:
            return 0  # a partition that is being acquired: its owner seeks
        for partition, records in fetched.items():
            self._assigned.deliver(self._names.logical(partition.topic), partition.partition, records)
        return sum(map(len, fetched.values()))

    def publish(self, number: int, positions: dict[str, int]) -> None:
        """Begin to fetch the inputs of `number` at `positions`."""
        for topic, position in positions.items():
            partition = TopicPartition(self._names.topic(topic), number)
            self._consumer.seek(partition, position)
            self._resume(partition)

    def want(self, topic: str, number: int, wanted: bool) -> None:
        """Pause or resume one input of `number`; of no effect once it has been lost, which its owner is told later."""
        partition = TopicPartition(self._names.topic(topic), number)
        if wanted != (partition in self._paused) or partition not in self._consumer.assignment():
            return
        if wanted:
            self._resume(partition)
        else:
            self._pause([partition])

    def reached(self, topic: str, number: int) -> tuple[int | None, int | None]:
        """The next offset to fetch and the end that this consumer may see (the last stable offset), where known."""
        partition = TopicPartition(self._names.topic(topic), number)
        assignment = self._consumer._subscription.subscription
        state = assignment and assignment.assignment and assignment.assignment.state_value(partition)
        if not state or not state.has_valid_position:
            return None, None
        ends = (state.lso if state.lso is not None else state.highwater, self._ends.get(partition))
        return state.position, max((end for end in ends if end is not None), default=None)

    async def look(self) -> None:
        """Ask where the paused inputs end: of what is not fetched nothing else tells it.

        Raises:
            KafkaError, TimeoutError: no answer; `reached` goes on with what it knew.
        """
        if self._paused:
            async with asyncio.timeout(LOOK_SECONDS):
                self._ends.update(await self._consumer.end_offsets(list(self._paused)))

    async def tell(self, committed: Mapping[int, Positions]) -> None:
        """Commit positions, by number, as the group's offsets.

        They are for those who look from outside (lag, what may be purged); no owner starts from them.

        Raises:
            KafkaError, TimeoutError: not told, or not all.
        """
        assigned = self._consumer.assignment()
        offsets = {
            partition: OffsetAndMetadata(*position)
            for number, positions in committed.items()
            for topic, position in positions.items()
            if (partition := TopicPartition(self._names.topic(topic), number)) in assigned
        }
        news = dict(offsets.items() - self._told.items())
        if news:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._consumer.commit(news)
            self._told |= news

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Nothing stops: cycles under way still commit, and the fence protects whoever owns the numbers next."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        if self._assigned is None:
            return
        self._heard = time.monotonic()
        self._paused.clear()
        self._ends.clear()
        self._told.clear()
        self._pause(assigned)
        self._numbers = frozenset(partition.partition for partition in assigned)
        self._generation = self._coordinator_generation()
        self._assignor.joined(self._generation)
        try:
            self._assigned.on_assigned(self._numbers, self._generation)
        except Exception as error:  # noqa: BLE001 - aiokafka would log it and go on: `poll` raises it
            self._failure = error

    def _listen_to_heartbeats(self) -> None:
        """Note when the last one that was answered well had been sent."""
        coordinator = self._consumer._coordinator
        beat = coordinator._do_heartbeat

        async def noted() -> bool:
            sent = time.monotonic()
            well: bool = await beat()
            if well:
                self._heard = sent
            return well

        coordinator._do_heartbeat = noted

    def _coordinator_generation(self) -> int:
        """As the coordinator last told: ahead of the assignment while a rebalance is under way, -1 outside a group."""
        generation: int = self._consumer._coordinator.generation
        return generation

    def _pause(self, partitions: Iterable[TopicPartition]) -> None:
        partitions = list(partitions)
        self._consumer.pause(*partitions)
        self._paused.update(partitions)

    def _resume(self, partition: TopicPartition) -> None:
        self._consumer.resume(partition)
        self._paused.discard(partition)
