"""What moves a stream: it reads the log, tells the grouping, raises the demand, and knows when all is over."""

import asyncio
import time
from datetime import timedelta
from itertools import islice

from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from odradek_runtime.blobs import open_blob_store
from odradek_runtime.intake import Intake
from odradek_runtime.records import RawRecord, Record
from odradek_schemas.events import Event, PartitionsAdded, PolicyUpdated
from odradek_schemas.topics import REWARDS
from odradek_training.arrival import Arrival
from odradek_training.asking import Asking
from odradek_training.deployment import Deployment
from odradek_training.errors import PositionLost, StreamIdle, StreamUnreachable
from odradek_training.feed import Feed
from odradek_training.group import Group
from odradek_training.grouping import Grouping
from odradek_training.policies import Policies
from odradek_training.position import Position
from odradek_training.reading import Reading
from odradek_training.runs import Runs
from odradek_training.settings import StreamSettings
from odradek_training.stats import Stats

SETTLE_SECONDS = 15.0
"""A partition that is read to its end may still get records this old: those of a transaction that is open."""
_CLOCK_SKEW = timedelta(minutes=10)
_AT_ONCE = 64
"""Records that are decoded together; their large values are fetched at the same time."""
_TOLD = 5
"""Groups that an error names."""


class Pump:
    """Everything happens in `next_group`, which may be cancelled at any time: what was read is kept until it is told,
    and nothing is awaited between the decision on a group and its being given out."""

    def __init__(self, deployment: Deployment, settings: StreamSettings) -> None:
        selection = settings.selection
        self._settings = settings
        self._runs = Runs(selection, settings.group_size, by_demand=settings.ahead is not None)
        self._policies = Policies()
        self._feed = Feed(deployment, selection)
        intake = Intake("trainer", open_blob_store(deployment.blob_store))
        self._reading = Reading(intake, selection, self._runs)
        self._asking = Asking(deployment, selection, self._runs)
        self._grouping = Grouping(settings.rules, self._policies, Position(selection=selection), {})
        self._ends: dict[str, dict[int, int]] = {}
        self._over: set[str] = set()
        self._strangers: set[str | None] = set()
        self._goal = 0
        self._news = 0.0
        self._waiting = False
        self._stepping: asyncio.Task[None] | None = None

    async def open(self, start: Position | None) -> None:
        await self._feed.open()
        await self._take_in()
        self._runs.check()
        position = start or Position(selection=self._settings.selection)
        starts = await self._resumed(start) if start else await self._first()
        self._grouping = Grouping(self._settings.rules, self._policies, position, starts)
        await self._feed.follow(starts)

    async def close(self) -> None:
        if self._stepping is not None:
            self._stepping.cancel()
            await asyncio.wait({self._stepping})
        await self._asking.stop()
        await self._feed.close()

    async def next_group(self) -> Group | None:
        """The next group; None: there will be none."""
        if (
            not self._waiting
        ):  # a wait that was cancelled goes on: what the trainer does between does not count
            self._waiting, self._news = True, time.monotonic()
        while True:
            await self._finish_step()
            await self._ask_more()
            await self._listen()
            group = self._grouping.take()
            if group is not None:
                self._waiting = False
                return group
            if self._finished:
                self._runs.check_ends()
                return None
            self._stepping = asyncio.create_task(self._step())

    async def want(self, groups: int) -> None:
        self._goal = self._grouping.tally.groups + groups
        await self._ask_more()

    def position(self) -> Position:
        return self._grouping.position()

    def stats(self) -> Stats:
        tally = self._grouping.tally
        return Stats(
            groups=tally.groups,
            rollouts=tally.rollouts,
            partial=tally.partial,
            dropped_groups=dict(tally.dropped_groups),
            dropped_rollouts=dict(tally.dropped_rollouts),
            staleness=dict(sorted(tally.staleness.items())),
            open_groups=len(self._grouping.gathering),
            ready_groups=self._grouping.ready,
            lag=self._feed.lag(self._grouping.read),
        )

    @property
    def _finished(self) -> bool:
        return (
            self._runs.all_finished
            and self._over.issuperset(self._runs.finished)
            and not self._grouping.ready
        )

    async def _ask_more(self) -> None:
        """Others are played for groups that were dropped: the wish is for groups to train on."""
        more = max(self._settings.ahead or 0, self._goal - self._grouping.tally.groups)
        if more > 0:
            await self._asking.ask(self._grouping.decided, more, self._feed.layout)

    async def _finish_step(self) -> None:
        """A step is finished even if its caller is cancelled: else who waits briefly, again and again, gets nowhere."""
        if self._stepping is not None:
            try:
                await asyncio.shield(self._stepping)
            finally:
                if self._stepping.done():
                    self._stepping = None

    async def _listen(self) -> None:
        """Before a group is decided: hear of newer policies. Where staleness is bounded, of all that are in the log."""
        if self._grouping.ready:
            bounded = self._settings.rules.max_staleness is not None
            await (self._feed.catch_up() if bounded else self._feed.listen())
            await self._take_in()

    async def _step(self) -> None:
        """Read what has come, and see what it changes.

        Raises:
            StreamIdle: nothing has come for too long.
            StreamUnreachable, PositionLost: Kafka can't be read, or no longer has what comes next.
        """
        try:
            await self._feed.poll()
            await self._take_in()
            await self._look(await self._widen())
        except OffsetOutOfRangeError as error:
            raise PositionLost(f"the log was shortened before it was read: {error!r}") from error
        except KafkaError as error:
            raise StreamUnreachable(f"Kafka can't be read: {error!r}") from error
        if time.monotonic() - self._news > self._settings.idle_timeout:
            self._waiting = False
            raise StreamIdle(self._waits_for())

    async def _widen(self) -> set[str]:
        """Read the partitions that were added, too. Returns the runs that have ended, none of whose are missed.

        Rewards lie in added partitions only after `control` told of them, and before their run has ended.
        """
        ended = set(self._runs.finished)
        new = bool(ended - self._ends.keys())
        if new:
            await self._feed.catch_up()
            await self._take_in()
        for partition, start in (await self._feed.widen(now=new)).items():
            self._grouping.widen(partition, start)
        return ended

    async def _look(self, ended: set[str]) -> None:
        """Let time pass where a partition is read to its end, and end the runs all of whose rewards are read."""
        positions, settled = await self._feed.positions(), time.time() - SETTLE_SECONDS
        for partition, offset in positions.items():
            at_end = self._feed.at_end(partition, offset)
            self._grouping.advance(partition, offset, settled if at_end else float("-inf"))
        self._grouping.expire()
        await self._end_runs(ended, positions)

    async def _end_runs(self, ended: set[str], positions: dict[int, int]) -> None:
        """A run's rewards were committed before it was said to be finished: they lie before the ends as they are now."""
        new = ended - self._ends.keys()
        if new:
            self._ends |= dict.fromkeys(new, await self._feed.ends())
        for run_id, ends in self._ends.items():
            if run_id not in self._over and all(positions[p] >= end for p, end in ends.items()):
                self._over.add(run_id)
                self._grouping.end_run(run_id)

    async def _take_in(self) -> None:
        """Tell what was read, what is said of runs and policies first; no record is let go of before it is told."""
        while kept := self._feed.told or self._feed.inbox:
            chunk = list(islice(kept, _AT_ONCE))
            records = [self._reading.open(topic, raw) for topic, raw in chunk]
            if await self._meet(records):
                continue
            read = [self._read(record, raw) for record, (_topic, raw) in zip(records, chunk, strict=True)]
            for told in await asyncio.gather(*read):
                topic, raw = kept.popleft()
                self._tell(told)
                if topic == REWARDS.name:
                    self._grouping.advance(raw.partition, raw.offset + 1, seconds(raw))

    async def _meet(self, records: list[Record | None]) -> bool:
        """When there are rewards of runs that were never heard of: read what `runs` has to say of them first.

        A run's request is in the log before its rewards; what is not known then is none of ours.
        """
        runs = {
            record.envelope.run_id
            for record in records
            if record is not None
            and record.topic == REWARDS.name
            and not self._runs.find(record.envelope.run_id)
        }
        unknown = runs - self._strangers
        if unknown:
            await self._feed.catch_up()
            self._strangers |= unknown
        return bool(unknown)

    async def _read(self, record: Record | None, raw: RawRecord) -> Event | Arrival | None:
        return None if record is None else await self._reading.read(record, seconds(raw))

    def _tell(self, told: Event | Arrival | None) -> None:
        match told:
            case None:
                return
            case PolicyUpdated():
                self._policies.update(told)
                return
            case PartitionsAdded():
                self._feed.expect(told.counts[-1])
                return
            case Arrival():
                self._grouping.add(told)
            case _:
                self._runs.tell(told)
        self._news = time.monotonic()

    async def _first(self) -> dict[int, int]:
        """Where a stream without a position begins: with its runs, or as it was asked."""
        since = self._settings.since
        if since is None and self._settings.selection.runs:
            since = min(run.time for run in self._runs.wanted) - _CLOCK_SKEW
        if since is None:
            return {partition: start for partition, (start, _end) in (await self._feed.bounds()).items()}
        return await self._feed.since(since)

    async def _resumed(self, position: Position) -> dict[int, int]:
        """Where the position has it; a partition that it does not know is new, and read from its beginning.

        Raises:
            PositionLost: the log begins behind it, or ends before it.
        """
        bounds = await self._feed.bounds()
        for partition, offset in position.offsets.items():
            start, end = bounds.get(partition, (0, 0))
            if not start <= offset <= end:
                raise PositionLost(
                    f"the position needs partition {partition} of rewards from offset {offset} on, which has "
                    f"{start} to {end}: the log was shortened, or is another one; begin without a position"
                )
        return {
            partition: position.offsets.get(partition, start) for partition, (start, _end) in bounds.items()
        }

    def _waits_for(self) -> str:
        """What a stream that has waited too long is waiting for."""
        named = self._settings.selection.runs
        open_runs = [run for run in named if run not in self._over]
        groups = sorted(self._grouping.gathering, key=lambda group: group.missing)[:_TOLD]
        parts = [f"{group.task_id} lacks {group.missing} of {group.size}" for group in groups]
        demands = [
            f"the demand of {run.run_id} is {self._runs.demanded(run.run_id)}" for run in self._runs.by_demand
        ]
        return (
            f"no reward came for {self._settings.idle_timeout:g} s: "
            f"{'runs ' + ', '.join(open_runs) + ' have' if open_runs else 'the runs of the filter have'} not ended; "
            + "; ".join([f"{len(self._grouping.gathering)} groups are open", *parts, *demands[:_TOLD]])
            + "; `odradek status` shows what rollouts wait for"
        )


def seconds(raw: RawRecord) -> float:
    """When a record was written, in seconds since 1970."""
    return float(raw.timestamp) / 1000
