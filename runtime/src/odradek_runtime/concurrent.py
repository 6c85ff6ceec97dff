"""The concurrent processor: up to N records of a partition number in flight, finished ones committed in cycles."""

import asyncio
import time
from collections import deque

from odradek_runtime.acquisition import Acquired
from odradek_runtime.errors import WorkerError
from odradek_runtime.gathering import gather_seconds
from odradek_runtime.handlers import ConcurrentProcessor, Handler
from odradek_runtime.intake import Intake
from odradek_runtime.logs import get_logger
from odradek_runtime.metrics import Metrics
from odradek_runtime.owners import Flow
from odradek_runtime.positions import MAX_IN_FLIGHT
from odradek_runtime.progress import Positions
from odradek_runtime.records import Outputs, RawRecord, Record
from odradek_runtime.turn import Turn
from odradek_runtime.window import Window
from odradek_schemas.codec import RecordError
from odradek_schemas.events import Event

IDLE_SECONDS = 1.0

log = get_logger(__name__)


class ConcurrentOwner:
    """Runs the handler of one partition number."""

    def __init__(
        self,
        partition: int,
        processor: ConcurrentProcessor,
        handler: Handler,
        acquired: Acquired,
        intake: Intake,
        flow: Flow,
        turn: Turn,
        metrics: Metrics,
        drain_seconds: float,
    ) -> None:
        self._handler = handler
        self._committer = acquired.committer
        self._intake = intake
        self._flow = flow
        self._turn = turn
        self._metrics = metrics
        self._most = min(processor.max_in_flight, MAX_IN_FLIGHT)
        self._ordered = processor.ordered
        self._last_records = 0
        self._drain_seconds = drain_seconds
        self._windows = {topic: Window(position) for topic, position in acquired.positions.items()}
        self._next = {topic: position.lowest for topic, position in acquired.positions.items()}
        self._waiting: deque[tuple[str, RawRecord]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._tails: dict[str, asyncio.Task[None]] = {}
        self._finished: list[tuple[str, int]] = []
        self._outputs: Outputs = []
        self._committing: list[asyncio.Future[None]] = []
        self._failure: BaseException | None = None
        self._wake = asyncio.Event()
        self._draining = False
        self._closing = False
        self._flowing = True
        metrics.in_flight.labels(str(partition)).set_function(lambda: len(self._tasks))

    def positions(self) -> dict[str, int]:
        return dict(self._next)

    def deliver(self, topic: str, records: list[RawRecord]) -> None:
        window = self._windows[topic]
        for record in records:
            if record.offset >= self._next[topic]:
                self._next[topic] = record.offset + 1
                if window.admits(record.offset):
                    self._waiting.append((topic, record))
        self._pump()

    def control(self, event: Event) -> None:
        self._handler.control(event)

    async def commit(self, outputs: Outputs) -> None:
        """`HandlerContext.commit`. In order with all other outputs: of a compacted topic's key the last one counts."""
        if self._closing:
            raise asyncio.CancelledError("the owner is closed")
        committed = asyncio.get_running_loop().create_future()
        self._outputs.extend(outputs)
        self._committing.append(committed)
        self._wake.set()
        await committed

    async def run(self) -> None:
        while not (self._draining and not self._tasks):
            await self._wait()
            if self._failure is not None:
                raise self._failure
            started = time.perf_counter()
            if await self._commit():
                self._metrics.cycle_seconds.observe(time.perf_counter() - started)
        await self._commit()
        await self.close()

    async def drain(self) -> None:
        """No new record is begun; those in flight get the drain's time, then they are left to the next owner."""
        self._draining = True
        self._waiting.clear()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._drain_seconds)
        self._cancel()
        self._wake.set()

    async def close(self) -> None:
        self._waiting.clear()
        self._cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=self._drain_seconds)
        await self._handler.close()
        await self._committer.close()

    def _cancel(self) -> None:
        self._closing = True
        for waiting in (*self._tasks, *self._committing):
            waiting.cancel()

    def commits(self) -> int:
        return self._committer.commits

    def committed(self) -> Positions:
        return self._committer.committed

    def backlog(self) -> dict[str, int]:
        counts = {topic: window.in_flight for topic, window in self._windows.items()}
        for topic, _record in self._waiting:
            counts[topic] += 1
        return counts

    def _pump(self) -> None:
        """Hand out records while there is room; none while somebody else may have been given this number."""
        while self._has_room() and self._flow.holds() and self._turn.take(self._pump):
            topic, raw = self._waiting.popleft()
            self._windows[topic].hand_out(raw.offset)
            self._start(topic, raw)
        self._apply_pressure()

    def _has_room(self) -> bool:
        return bool(self._waiting and len(self._tasks) < self._most and not self._draining)

    def _apply_pressure(self) -> None:
        """Said at each record without room, since a rebalance resumes what was paused; else only when it changes."""
        room = len(self._waiting) < self._most and not self._draining
        if not (room and self._flowing):
            self._flowing = room
            for topic in self._windows:
                self._flow.want(topic, room)

    def _start(self, topic: str, raw: RawRecord) -> None:
        record, error = self._intake.open(topic, raw)
        event = None
        if error is None and record.envelope.dataref is None:
            try:
                event = self._intake.decode(record, record.value)
            except RecordError as problem:
                error = problem
        if error is not None:
            self._finish(record, self._reject(record, error))
            return
        key = record.envelope.rollout_id if self._ordered else None
        before = self._tails.get(key) if key is not None else None
        task = asyncio.ensure_future(self._work(record, event, before))
        self._tasks.add(task)
        if key is not None:
            self._tails[key] = task
        task.add_done_callback(lambda done: self._ended(done, key))

    async def _work(self, record: Record, event: Event | None, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            await asyncio.wait({before})
        try:
            if event is None:
                event = await self._intake.read(record)
            outputs = await self._handler.handle(event, record)
        except RecordError as error:
            outputs = self._reject(record, error)
        self._finish(record, outputs)

    def _finish(self, record: Record, outputs: Outputs) -> None:
        self._finished.append((record.topic, record.offset))
        self._outputs.extend(outputs)
        self._wake.set()

    def _ended(self, task: "asyncio.Task[None]", key: str | None) -> None:
        self._tasks.discard(task)
        if key is not None and self._tails.get(key) is task:
            del self._tails[key]
        if not task.cancelled():
            self._failure = self._failure or task.exception()
        elif not self._closing:
            self._failure = WorkerError("a handler's call was cancelled, not by its owner")
        if self._failure is not None:
            self._wake.set()
        if self._draining:
            self._wake.set()
        self._pump()

    def _reject(self, record: Record, error: RecordError) -> Outputs:
        log.warning("record rejected", record=str(record.coordinates), reason=error.reason,
                    run_id=record.envelope.run_id, rollout_id=record.envelope.rollout_id)  # fmt: skip
        self._metrics.errors.labels(type(error).__name__).inc()
        failure = self._handler.reject(record, error) if record.envelope.id else []
        return [self._intake.dead_letter(record, error), *failure]

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            self._pass_markers()
            self._pump()
            return
        self._wake.clear()
        if not self._draining:
            await asyncio.sleep(gather_seconds(self._last_records))

    async def _commit(self) -> bool:
        """Commit what has finished. Only then it leaves the window: until now a restart would have repeated it."""
        finished, self._finished = self._finished, []
        outputs, self._outputs = self._outputs, []
        committing = len(self._committing)
        self._last_records = len(finished)
        for topic, offset in finished:
            self._windows[topic].finish(offset)
        positions = {topic: window.commit() for topic, window in self._windows.items()}
        if not finished and not committing and not self._idle_commit_due(positions):
            return False
        await self._committer.commit(outputs, positions)
        self._tell_committed(committing)
        for topic in self._windows:
            self._metrics.records_in.labels(topic).inc(sum(t == topic for t, _o in finished))
        return True

    def _tell_committed(self, count: int) -> None:
        """The first `count` of those who wait for a commit may go on, unless they have given up."""
        for committed in self._committing[:count]:
            if not committed.done():
                committed.set_result(None)
        del self._committing[:count]

    def _idle_commit_due(self, positions: Positions) -> bool:
        """Whether only markers were passed: with work in flight the next commit of results carries the position."""
        return positions != self._committer.committed and not self._tasks and not self._waiting

    def _pass_markers(self) -> None:
        """Nothing waits: what lies before the fetch position was markers. Not so while draining: it is left unread."""
        if self._draining:
            return
        for topic, window in self._windows.items():
            position, _end = self._flow.reached(topic)
            if position is not None and not self._waiting and not window.in_flight:
                window.pass_over(position)
                self._next[topic] = max(self._next[topic], position)
