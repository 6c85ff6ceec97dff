"""Taking over a partition number: fence, mark the end, read the positions, restore.

The first of the two seams behind which Kafka's mechanics hide (the other is `committer`). The order is the point:
once the fence is up no earlier owner can commit, so that everything read after it is final. The caller then seeks
and publishes the new owner without an await in between.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from aiokafka.structs import TopicPartition

from odradek_runtime.blobs import BlobStore
from odradek_runtime.committer import Committer
from odradek_runtime.errors import NotOwnedError, WorkerError
from odradek_runtime.faults import reach
from odradek_runtime.log_reader import log_bounds, read_log
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.positions import Position, parse_position
from odradek_runtime.progress import read_positions
from odradek_runtime.restoring import Restore
from odradek_runtime.settings import WorkerSettings


@dataclass(frozen=True)
class Acquired:
    """A fenced partition number: its committer, where to read each input from, and where its changelog ends."""

    committer: Committer
    positions: dict[str, Position]
    changelog_end: int


class Acquisition:
    """Acquires partition numbers for one worker."""

    def __init__(
        self,
        worker: str,
        inputs: tuple[str, ...],
        changelog: str | None,
        anchor: str | None,
        names: Names,
        blobs: BlobStore,
        settings: WorkerSettings,
        metrics: Metrics,
    ) -> None:
        self._worker = worker
        self._inputs = inputs
        self._changelog = changelog
        self._anchor = anchor
        self._names = names
        self._blobs = blobs
        self._settings = settings
        self._metrics = metrics

    async def acquire(
        self,
        partition: int,
        still_owned: Callable[[], bool],
        restore: Restore,
    ) -> Acquired:
        """Take over `partition`, giving `restore` its changelog in order.

        Raises:
            NotOwnedError: `still_owned` said no just before the fence (a fence of ours would hit the new owner).
            WorkerError: records that were never read are gone, or a position can't be understood.
            TimeoutError: it took longer than the deadline.
        """
        async with asyncio.timeout(self._settings.acquire_timeout_seconds):
            if not still_owned():
                raise NotOwnedError(f"partition {partition} went to another member")
            committer = await Committer.fence(
                self._worker, partition, self._names, self._blobs, self._settings, self._metrics
            )
            reach("fenced")
            try:
                return await self._restore(partition, committer, restore)
            except BaseException:
                await committer.close()
                raise

    async def _restore(
        self,
        partition: int,
        committer: Committer,
        restore: Restore,
    ) -> Acquired:
        topics = [*self._inputs, *([self._changelog] if self._changelog else [])]
        tps = {topic: TopicPartition(self._names.topic(topic), partition) for topic in topics}
        progress = TopicPartition(self._names.positions(self._worker), partition)
        bounds = await log_bounds(self._settings.brokers, [*tps.values(), progress])
        committed = committer.committed = await read_positions(
            self._settings.brokers, progress, *bounds[progress]
        )
        positions = {
            topic: self._position(tps[topic], committed.get(topic), bounds[tps[topic]][0])
            for topic in self._inputs
        }
        if self._changelog is None:
            return Acquired(committer, positions, 0)
        start, end = bounds[tps[self._changelog]]
        anchor = positions[self._anchor].restore_point if self._anchor else None
        if anchor is not None and anchor < start:
            raise WorkerError(
                f"{tps[self._changelog].topic}[{partition}]: records {anchor} to {start - 1} are needed to restore "
                "and were deleted; nothing but the purger may shorten this topic"
            )
        async for records in read_log(
            self._settings.brokers, tps[self._changelog], start if anchor is None else anchor, end
        ):
            await restore(records)
            reach("restore")
        return Acquired(committer, positions, end)

    def _position(self, partition: TopicPartition, committed: tuple[int, str] | None, start: int) -> Position:
        if committed is None:
            return Position(start)
        position = parse_position(*committed)
        if position.lowest < start:
            raise WorkerError(
                f"{partition.topic}[{partition.partition}]: records {position.lowest} to {start - 1} were deleted "
                f"before {self._worker} had read them; check the topic's retention (`odradek topics diff`)"
            )
        return position
