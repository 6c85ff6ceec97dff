"""Reading a deployment's `rewards`, `runs` and `control` as a stream does: committed records only, in no group."""

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from odradek_runtime.growing import read_layout
from odradek_runtime.leaving import stopped
from odradek_runtime.partitioning import Layout
from odradek_runtime.records import RawRecord
from odradek_schemas.topics import CONTROL, REWARDS, RUNS
from odradek_training.deployment import Deployment
from odradek_training.errors import StreamUnreachable
from odradek_training.selection import Selection

CONNECT_SECONDS = 30.0
_POLL_MS = 200
_LOOK_SECONDS = 1.0
"""Between two looks for partitions that are being added."""
_FETCH_WAIT_MS = 50
"""How long a fetch may wait at the end of a partition. A fetch holds up all others of the same broker."""


class Feed:
    """What was read and not taken yet is kept, with its topic's logical name, so that a caller who is cancelled loses
    nothing: in `told` what `runs` and `control` say, which is to be known first, and in `inbox` rewards."""

    def __init__(self, deployment: Deployment, selection: Selection) -> None:
        self.told: deque[tuple[str, RawRecord]] = deque()
        self.inbox: deque[tuple[str, RawRecord]] = deque()
        self._deployment = deployment
        self._selection = selection
        self._rewards: dict[int, TopicPartition] = {}
        self._telling: list[TopicPartition] = []
        self._clients: list[AIOKafkaConsumer] = []
        self._expected = 0
        self._looked = 0.0
        self.layout = Layout((1,))

    async def open(self) -> None:
        """Connect, and read what `runs` and `control` hold now. `layout` is known then.

        Raises:
            StreamUnreachable: Kafka does not answer in time, or has no such topics.
        """
        self._clients = [self._client("read_committed"), self._client("read_uncommitted")]
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.gather(*(client.start() for client in self._clients))
                await self._find_partitions()
                self._consumer.assign(self._telling)
                await self._consumer.seek_to_beginning(*self._telling)
                await self.catch_up()
        except TimeoutError as error:
            raise self._unreachable(f"did not answer within {CONNECT_SECONDS:g} s") from error
        except KafkaError as error:
            raise self._unreachable(f"does not answer ({error!r})") from error

    async def close(self) -> None:
        if self._clients:
            await stopped(*self._clients)

    async def bounds(self) -> dict[int, tuple[int, int]]:
        """The first offset and the end of each partition of `rewards`."""
        starts = await self._marks.beginning_offsets(list(self._rewards.values()))
        ends = await self._marks.end_offsets(list(self._rewards.values()))
        return {p: (starts[place], ends[place]) for p, place in self._rewards.items()}

    async def ends(self) -> dict[int, int]:
        """The end of each partition of `rewards`."""
        return {partition: end for partition, (_start, end) in (await self.bounds()).items()}

    async def since(self, time: datetime) -> dict[int, int]:
        """The first offset of each partition of `rewards` that is as young as `time`."""
        wanted = dict.fromkeys(self._rewards.values(), int(time.timestamp() * 1000))
        found, ends = await self._marks.offsets_for_times(wanted), await self.ends()
        return {
            p: ends[p] if (at := found.get(place)) is None else at.offset
            for p, place in self._rewards.items()
        }

    async def follow(self, starts: Mapping[int, int]) -> None:
        """Read `rewards` from some offsets on, beside the others."""
        seen = {place: await self._consumer.position(place) for place in self._telling}
        seen |= {self._rewards[partition]: start for partition, start in starts.items()}
        self._consumer.assign(list(seen))
        for place, offset in seen.items():
            self._consumer.seek(place, offset)

    def expect(self, partitions: int) -> None:
        """Topics have, or are about to have, so many partitions."""
        self._expected = partitions

    async def widen(self, now: bool) -> dict[int, int]:
        """Read the partitions of `rewards` that were added, too, each from its beginning, which is given back.

        Looked for `now`, or once a second. Nobody writes to one before all topics have it, so one that is not seen yet holds nothing.

        Raises:
            StreamUnreachable: Kafka does not answer in time.
        """
        recent = time.monotonic() - self._looked < _LOOK_SECONDS
        if self._expected <= len(self._rewards) or (recent and not now):
            return {}
        self._looked = time.monotonic()
        name = self._deployment.names.topic(REWARDS.name)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                added = range(len(self._rewards), await self._count_afresh(name))
                places = {partition: TopicPartition(name, partition) for partition in added}
                starts = await self._marks.beginning_offsets(list(places.values()))
        except (TimeoutError, KafkaError) as error:
            raise self._unreachable(f"did not give the partitions that were added ({error!r})") from error
        seen = await self.positions()
        self._rewards |= places
        begin = {partition: starts[place] for partition, place in places.items()}
        await self.follow(seen | begin)
        return begin

    async def poll(self) -> None:
        """Read what has come; wait a moment when there is nothing."""
        self._keep(await self._consumer.getmany(timeout_ms=_POLL_MS))

    async def listen(self) -> None:
        """Read what has come of `runs` and `control` alone, without waiting."""
        self._keep(await self._consumer.getmany(*self._telling, timeout_ms=0))

    async def catch_up(self) -> None:
        """Read all that `runs` and `control` hold at this moment.

        Raises:
            StreamUnreachable: Kafka does not answer in time.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                ends = await self._marks.end_offsets(self._telling)
                while [p for p in self._telling if await self._consumer.position(p) < ends[p]]:
                    self._keep(await self._consumer.getmany(*self._telling, timeout_ms=_POLL_MS))
        except TimeoutError as error:
            raise self._unreachable(f"did not give topic runs within {CONNECT_SECONDS:g} s") from error

    async def positions(self) -> dict[int, int]:
        """The next offset of each partition of `rewards`, behind markers, too."""
        return {p: await self._consumer.position(place) for p, place in self._rewards.items()}

    def at_end(self, partition: int, position: int) -> bool:
        """Whether the last fetch found nothing behind `position`."""
        end = self._consumer.last_stable_offset(self._rewards[partition])
        return end is not None and 0 <= end <= position

    def lag(self, positions: Mapping[int, int]) -> int:
        """Records behind some positions, as far as the last fetches told."""
        ends = {p: self._consumer.highwater(place) for p, place in self._rewards.items()}
        return sum(max(0, (ends[p] or 0) - position) for p, position in positions.items())

    @property
    def _consumer(self) -> AIOKafkaConsumer:
        """Reads records."""
        return self._clients[0]

    @property
    def _marks(self) -> AIOKafkaConsumer:
        """Asks for offsets, on connections of its own: a fetch that waits would hold the answers up.

        Ends are the log's own, behind any open transaction: what was committed before is never missed, though it may
        become visible a moment later.
        """
        return self._clients[1]

    def _client(self, isolation_level: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            **self._deployment.brokers.client(),
            group_id=None,
            isolation_level=isolation_level,
            enable_auto_commit=False,
            auto_offset_reset="none",
            max_partition_fetch_bytes=4_000_000,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
        )

    def _keep(self, fetched: Mapping[TopicPartition, Iterable[RawRecord]]) -> None:
        for place, records in fetched.items():
            topic = self._deployment.names.logical(place.topic)
            kept = self.inbox if topic == REWARDS.name else self.told
            kept.extend((topic, record) for record in records)

    async def _find_partitions(self) -> None:
        names, known = self._deployment.names, await self._consumer.topics()
        for topic in (REWARDS, RUNS, CONTROL):
            if names.topic(topic.name) not in known:
                raise self._unreachable(
                    f"has no topic {names.topic(topic.name)!r}: `odradek topics apply` creates the topics, "
                    "ODRADEK_TOPIC_PREFIX names another deployment"
                )
        name = names.topic(REWARDS.name)
        count = await _count_partitions(self._consumer, name)
        self._rewards = {p: TopicPartition(name, p) for p in range(count)}
        self.layout = await read_layout(self._deployment.brokers, names, count)
        chosen = {self.layout.home(run_id) for run_id in self._selection.runs} or set(
            range(self.layout.homes)
        )
        self._telling = [TopicPartition(names.topic(RUNS.name), p) for p in sorted(chosen)]
        self._telling.append(TopicPartition(names.topic(CONTROL.name), 0))

    async def _count_afresh(self, name: str) -> int:
        """By a client of its own: the others look at their metadata again after minutes."""
        client = self._client("read_uncommitted")
        try:
            await client.start()
            return await _count_partitions(client, name)
        finally:
            await stopped(client)

    def _unreachable(self, what: str) -> StreamUnreachable:
        return StreamUnreachable(f"Kafka at {self._deployment.brokers} {what}")


async def _count_partitions(client: AIOKafkaConsumer, name: str) -> int:
    first = TopicPartition(name, 0)
    client.assign([first])
    await client.beginning_offsets([first])  # returns once the topic's own metadata are there
    return len(client.partitions_for_topic(name) or ())
