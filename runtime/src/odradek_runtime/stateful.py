"""The stateful processor: one fold a partition number, fed in cycles, each committed in one transaction."""

import asyncio
import time
from collections import deque
from datetime import UTC, datetime

from odradek_runtime.acquisition import Acquired
from odradek_runtime.folds import Fold, StatefulProcessor
from odradek_runtime.gathering import gather_seconds
from odradek_runtime.intake import Intake
from odradek_runtime.logs import get_logger
from odradek_runtime.metrics import Metrics
from odradek_runtime.owners import Flow
from odradek_runtime.positions import format_restore_point
from odradek_runtime.progress import Positions
from odradek_runtime.records import Outputs, RawRecord, Record
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event

INBOX_RECORDS = 4000
"""Records of one input that wait in memory before the input is paused."""
IDLE_SECONDS = 1.0
"""How long an input must be quiet before the position past the markers is committed."""

TURN_RECORDS = 32
"""Records taken in one turn of the event loop: heartbeats and the other partitions get theirs in between."""

log = get_logger(__name__)


class StatefulOwner:
    """Runs the fold of one partition number."""

    def __init__(
        self,
        partition: int,
        processor: StatefulProcessor,
        fold: Fold,
        acquired: Acquired,
        intake: Intake,
        flow: Flow,
        metrics: Metrics,
    ) -> None:
        self._partition = partition
        self._processor = processor
        self._fold = fold
        self._committer = acquired.committer
        self._intake = intake
        self._flow = flow
        self._metrics = metrics
        self._changelog_end = acquired.changelog_end
        self._taken = {topic: position.lowest for topic, position in acquired.positions.items()}
        self._committed = dict(self._taken)
        self._next = dict(self._taken)
        self._inbox: dict[str, deque[RawRecord]] = {topic: deque() for topic in processor.inputs}
        self._posted: deque[Event] = deque()
        self._first: Outputs = []
        self._wake = asyncio.Event()
        self._draining = False
        self._last_records = 0

    def positions(self) -> dict[str, int]:
        return dict(self._next)

    def deliver(self, topic: str, records: list[RawRecord]) -> None:
        fresh = [record for record in records if record.offset >= self._next[topic]]
        if not fresh:
            return
        self._next[topic] = fresh[-1].offset + 1
        self._inbox[topic].extend(fresh)
        self._apply_pressure()
        self._wake.set()

    def post(self, event: Event) -> None:
        """Feed the fold an event that comes from no topic."""
        self._posted.append(event)
        self._wake.set()

    control = post

    async def run(self) -> None:
        self._fold.begin(self._changelog_end, _now())
        self._first = self._fold.restored()
        self._wake.set()
        while not self._draining:
            await self._wait()
            started = time.perf_counter()
            await self._cycle()
            self._metrics.cycle_seconds.observe(time.perf_counter() - started)
        await self._committer.close()
        self._fold.close()

    async def drain(self) -> None:
        self._draining = True
        self._wake.set()

    async def close(self) -> None:
        self._fold.close()
        await self._committer.close()

    def commits(self) -> int:
        return self._committer.commits

    def committed(self) -> Positions:
        return self._committer.committed

    def backlog(self) -> dict[str, int]:
        return {topic: len(inbox) for topic, inbox in self._inbox.items()}

    async def _wait(self) -> None:
        """Until there is something to do: records, posted events, a timer; or to commit past the markers."""
        timer = self._fold.next_timer()
        wait = (
            IDLE_SECONDS if timer is None else min(IDLE_SECONDS, max(0.0, (timer - _now()).total_seconds()))
        )
        try:
            async with asyncio.timeout(wait):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()
        if not self._draining:
            await asyncio.sleep(gather_seconds(self._last_records))

    async def _cycle(self) -> None:
        self._fold.begin(self._changelog_end, _now())
        outputs, self._first = self._first, []
        while self._posted:
            outputs.extend(self._fold.accept(self._posted.popleft(), None))
        taken = self._last_records = await self._take(outputs)
        outputs.extend(self._fold.fire(_now()))
        idle = not outputs and not taken
        if idle:
            self._pass_markers()
        if outputs or self._taken != self._committed:
            await self._commit(outputs)
        self._apply_pressure()
        if any(inbox and self._fold.wants(topic) for topic, inbox in self._inbox.items()):
            self._wake.set()

    async def _take(self, outputs: Outputs) -> int:
        """Feed waiting records to the fold, in the order of the inputs; what comes out is added to `outputs`."""
        taken = 0
        for topic, inbox in self._inbox.items():
            before = taken
            while inbox and taken < self._processor.max_cycle_records and self._fold.wants(topic):
                raw = inbox.popleft()
                outputs.extend(await self._accept(topic, raw))
                self._taken[topic] = raw.offset + 1
                taken += 1
                if taken % TURN_RECORDS == 0:
                    await asyncio.sleep(0)
            if taken > before:
                self._metrics.records_in.labels(topic).inc(taken - before)
        return taken

    async def _accept(self, topic: str, raw: RawRecord) -> Outputs:
        record, error = self._intake.open(topic, raw)
        if error is None:
            if not self._processor.wanted(topic, record.envelope):
                return []
            try:
                if record.envelope.dataref is None:
                    event = self._intake.decode(record, record.value)
                else:
                    event = await self._intake.read(record)
                return self._fold.accept(event, record)
            except RecordError as problem:
                error = problem
        return self._reject(record, error)

    def _reject(self, record: Record, error: RecordError) -> Outputs:
        log.warning("record rejected", record=str(record.coordinates), reason=error.reason,
                    run_id=record.envelope.run_id, rollout_id=record.envelope.rollout_id)  # fmt: skip
        self._metrics.errors.labels(type(error).__name__).inc()
        failure = self._fold.reject(record, error) if record.envelope.id else []
        return [self._intake.dead_letter(record, error), *failure]

    async def _commit(self, outputs: Outputs) -> None:
        """All that came out and all that was taken in, in one transaction."""
        positions = {topic: (offset, "") for topic, offset in self._taken.items()}
        if self._processor.anchor is not None:
            point = self._fold.restore_point()
            metadata = format_restore_point(self._changelog_end if point is None else point)
            positions[self._processor.anchor] = (self._taken[self._processor.anchor], metadata)
        ends = await self._committer.commit(outputs, positions)
        self._committed = dict(self._taken)
        self._changelog_end = ends.get(self._processor.changelog, self._changelog_end)

    def _pass_markers(self) -> None:
        """Nothing waits: what lies before the fetch position was markers, and counts as read."""
        for topic, inbox in self._inbox.items():
            position, _end = self._flow.reached(topic)
            if position is not None and not inbox and position > self._taken[topic]:
                self._taken[topic] = self._next[topic] = position

    def _apply_pressure(self) -> None:
        for topic, inbox in self._inbox.items():
            self._flow.want(topic, len(inbox) < INBOX_RECORDS and self._fold.wants(topic))


def _now() -> datetime:
    return datetime.now(UTC)
