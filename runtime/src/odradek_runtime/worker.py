"""A worker: one member of a group, the owners of the partition numbers assigned to it, and what happens to them.

Owners live through a rebalance when their number comes back in the next generation: nobody else can have owned it in
between (a generation that goes back is that of a group that was forgotten, and proves nothing). Otherwise they are
closed, and the number is acquired afresh by whoever it went to.
"""

import asyncio
import time
from importlib.metadata import version

from aiokafka.errors import KafkaError

from odradek_runtime.acquisition import Acquisition
from odradek_runtime.blobs import BlobStore
from odradek_runtime.errors import CommitFailedError, FencedError, NotOwnedError, WorkerError
from odradek_runtime.faults import reach
from odradek_runtime.flow import NumberFlow
from odradek_runtime.folds import StatefulProcessor
from odradek_runtime.gathering import pause_seconds
from odradek_runtime.handlers import ConcurrentProcessor
from odradek_runtime.intake import Intake
from odradek_runtime.logs import get_logger
from odradek_runtime.membership import Membership
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.owners import Owner
from odradek_runtime.partitioning import Layout, layout_of
from odradek_runtime.preparing import prepare
from odradek_runtime.recent import RecentTimes
from odradek_runtime.records import RawRecord
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.stalls import StallWatch
from odradek_runtime.telling import Teller
from odradek_runtime.turn import Turn
from odradek_runtime.twins import TwinWatch
from odradek_schemas.events import Event

MOST_FAILURES = 10
"""Failed commits of one number, or fencings, within FAILURE_SECONDS: beyond it a person must look."""
FAILURE_SECONDS = 600.0
RETRY_SECONDS = 0.5
LEAST_PAUSE_SECONDS = 0.05
"""Before a partition is acquired after a failed commit; doubled with each one lately."""
MOST_PAUSE_SECONDS = 15.0
LOOK_SECONDS = 1.0
"""How old the end of a paused input may be in the backlog."""

log = get_logger(__name__)


class Worker:
    """Runs one processor over the partition numbers that the group assigns to this member."""

    def __init__(
        self,
        processor: StatefulProcessor | ConcurrentProcessor,
        settings: WorkerSettings,
        blobs: BlobStore,
        metrics: Metrics,
    ) -> None:
        self._processor = processor
        self._settings = settings
        self._blobs = blobs
        self._metrics = metrics
        metrics.include(processor.name, version("odradek-runtime"), processor.inputs, processor.measures)
        metrics.ready.set_function(lambda: float(self.ready))
        metrics.silence.set_function(lambda: self._membership.silence_seconds)
        self._names = Names(settings.topic_prefix)
        self._intake = Intake(processor.name, blobs)
        self._turn = Turn()
        self._acquisition = Acquisition(
            processor.name,
            processor.inputs,
            processor.changelog,
            processor.anchor if isinstance(processor, StatefulProcessor) else None,
            self._names,
            blobs,
            settings,
            metrics,
        )
        self._membership = self._new_membership()
        self._owners: dict[int, Owner] = {}
        self._generations: dict[int, int] = {}
        self._runs: dict[int, asyncio.Task[None]] = {}
        self._acquiring: dict[int, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._control: dict[str, Event] = {}
        self._rejoins = RecentTimes(FAILURE_SECONDS)
        self._failures: dict[int, RecentTimes] = {}
        self._rejoin_wanted = False
        self._share_is_old: bool | None = None
        self._assigned: frozenset[int] | None = None
        self._stalls = StallWatch(metrics)
        self._twins = TwinWatch(settings.worker_id)
        self._teller = Teller(metrics)
        self._looked = 0.0
        self._stopped = asyncio.Event()
        self._fatal: BaseException | None = None

    @property
    def ready(self) -> bool:
        """Whether this member is in its group, works on every number assigned to it, and was not told to stop."""
        return not self._stopped.is_set() and self._assigned == self._owners.keys()

    @property
    def alive(self) -> bool:
        return self._fatal is None

    @property
    def layout(self) -> Layout:
        """What `control` tells of the topics' partitions."""
        return layout_of(self._control.values(), self._settings.partitions)

    async def run(self) -> None:
        """Join and work until `stop`.

        Raises:
            WorkerError: the worker can't go on; the message says why.
        """
        try:
            await self._membership.join(self)
            while not self._stopped.is_set():
                fetched = await self._membership.poll(0.2)
                if fetched:
                    self._metrics.fetches.inc()
                    await asyncio.sleep(pause_seconds(fetched))
                await self._watch()
                if self._share_is_old:
                    await self._join_as_new()
                if self._rejoin_wanted:
                    await self._rejoin()
            if self._fatal is not None:
                raise WorkerError(f"{self._processor.name}: {self._fatal}") from self._fatal
            await self._drain()
            await self._teller.finish(self._membership, self._owners)
        finally:
            await self._close_all()
            await self._membership.leave()

    def stop(self) -> None:
        """Drain and leave; `run` returns when that is done."""
        self._stopped.set()

    def control(self, event: Event) -> None:
        """Take an event of the `control` topic; later owners are told it too."""
        self._control[event.key] = event
        for owner in self._owners.values():
            owner.control(event)

    def on_assigned(self, numbers: frozenset[int], generation: int) -> None:
        log.info("assigned", partitions=sorted(numbers), generation=generation)
        self._metrics.rebalances.inc()
        self._twins.look(numbers, generation)
        if self._share_is_old is None:
            self._share_is_old = self._is_of_before(numbers)
        self._assigned = numbers
        reach("rebalance")
        for number in list(self._acquiring.keys() - numbers):
            self._acquiring[number].cancel()
        for number in list(self._owners.keys()):
            if number in numbers and 0 <= generation - self._generations[number] <= 1:
                self._generations[number] = generation
                self._membership.publish(number, self._owners[number].positions())
            else:
                self._dismiss(number)
        for number in sorted(numbers - self._owners.keys()):
            self._acquire(number)

    def deliver(self, topic: str, number: int, records: list[RawRecord]) -> None:
        owner = self._owners.get(number)
        if owner is not None:
            owner.deliver(topic, records)

    def _acquire(self, number: int, pause_seconds: float = 0.0) -> None:
        if number not in self._acquiring:
            task = asyncio.ensure_future(self._acquire_until_owned(number, pause_seconds))
            self._acquiring[number] = task
            task.add_done_callback(lambda done: self._acquired(number, done))

    async def _acquire_until_owned(self, number: int, pause_seconds: float) -> None:
        """Acquire `number`; a broker that is away for a while is waited for, up to the deadline."""
        await asyncio.sleep(pause_seconds)
        deadline = time.monotonic() + self._settings.acquire_timeout_seconds
        while number in (self._assigned or ()):
            generation = self._membership.generation
            try:
                await self._acquire_once(number, generation)
                return
            except (WorkerError, NotOwnedError):
                raise
            except Exception as error:
                if time.monotonic() > deadline:
                    raise WorkerError(f"partition {number} could not be acquired: {error!r}") from error
                log.warning("acquisition failed, trying again", partition=number, error=repr(error))
                self._metrics.errors.labels(type(error).__name__).inc()
                await asyncio.sleep(RETRY_SECONDS)

    async def _acquire_once(self, number: int, generation: int) -> None:
        started = time.perf_counter()
        flow = NumberFlow(self._membership, number)
        prepared = prepare(
            self._processor,
            number,
            flow,
            self._intake,
            self._turn,
            self.layout.homes,
            self._settings,
            self._metrics,
        )
        try:
            acquired = await self._acquisition.acquire(
                number, lambda: self._membership.owns(number, generation), prepared.restore
            )
            if not self._membership.owns(number, generation):
                await acquired.committer.close()
                raise NotOwnedError(f"partition {number} was reassigned while it was restored")
        except BaseException:
            await prepared.discard()
            raise
        # From here to the return nothing awaits: no record can fall between the seek and the owner.
        owner = prepared.build(acquired)
        self._owners[number] = owner
        self._generations[number] = generation
        for event in self._control.values():
            owner.control(event)
        self._membership.publish(number, owner.positions())
        self._start(number, owner)
        self._metrics.acquisitions.inc()
        log.info("acquired", partition=number, seconds=round(time.perf_counter() - started, 3))

    def _acquired(self, number: int, task: "asyncio.Task[None]") -> None:
        """An acquisition ended: well, in vain (another member's turn), or for good."""
        self._acquiring.pop(number, None)
        self._metrics.owned.set(len(self._owners))
        error = None if task.cancelled() else task.exception()
        if isinstance(error, NotOwnedError) or task.cancelled():
            wanted = number in (self._assigned or ()) and number not in self._owners
            # Between two generations of the group trying again would only spin: the next assignment acquires.
            if wanted and self._membership.settled and not self._stopped.is_set():
                self._acquire(number)
        elif error is not None:
            self._fail(error)

    def _start(self, number: int, owner: Owner) -> None:
        task = asyncio.ensure_future(owner.run())
        self._runs[number] = task
        task.add_done_callback(lambda done: self._ended(number, owner, done))

    def _ended(self, number: int, owner: Owner, task: "asyncio.Task[None]") -> None:
        """An owner's work ended by itself: what must be done depends on why."""
        if self._owners.get(number) is not owner or task.cancelled() or task.exception() is None:
            return
        error = task.exception()
        log.warning("owner lost", partition=number, error=repr(error))
        self._dismiss(number)
        if isinstance(error, FencedError):
            self._rejoin_wanted = True
        elif isinstance(error, CommitFailedError):
            self._acquire_again(number, error)
        elif error is not None:
            self._fail(error)

    def _acquire_again(self, number: int, error: CommitFailedError) -> None:
        """Acquire after a failed commit, unless that has become a habit."""
        failures = self._failures.setdefault(number, RecentTimes(FAILURE_SECONDS)).add()
        if failures > MOST_FAILURES:
            self._fail(
                WorkerError(f"partition {number}: {MOST_FAILURES} commits failed in a row, the last: {error}")
            )
        elif number in (self._assigned or ()):
            self._acquire(number, failure_pause(failures))

    def _dismiss(self, number: int) -> None:
        """Close an owner: whatever it has not committed is left to the next one."""
        owner = self._owners.pop(number)
        self._generations.pop(number, None)
        task = self._runs.pop(number)
        closing = asyncio.ensure_future(_cancel_and_close(task, owner))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        self._metrics.owned.set(len(self._owners))
        self._metrics.forget(number, self._processor.inputs)

    async def _rejoin(self) -> None:
        """Leave the group, join it, acquire again: an owner was fenced, so the assignment may be stale."""
        if self._rejoins.add() > MOST_FAILURES:
            raise WorkerError(
                f"fenced more than {MOST_FAILURES} times in {FAILURE_SECONDS:.0f} s: is another worker running with the "
                f"same ODRADEK_WORKER_ID ({self._settings.worker_id}) or topic prefix?"
            )
        log.warning("fenced: joining the group anew")
        self._metrics.fenced.inc()
        self._rejoin_wanted = False
        await self._close_all()
        await self._membership.leave(rejoining=True)
        self._membership = self._new_membership()
        await self._membership.join(self)

    def _is_of_before(self, numbers: frozenset[int]) -> bool:
        """Whether the group may have dealt out fewer numbers than there are.

        It gives a static member that comes back from the dead what it had, and asks nobody: partitions that were added
        meanwhile would be nobody's.
        """
        *before, _now = self.layout.counts
        static = self._settings.worker_id is not None
        return static and bool(before) and max(numbers, default=-1) < before[-1]

    async def _join_as_new(self) -> None:
        """Give up the static place, so that the group deals out all numbers."""
        log.info("partitions were added: joining the group as a new member")
        self._share_is_old = False
        await self._close_all()
        await self._membership.leave()
        self._membership = self._new_membership()
        await self._membership.join(self)

    async def _drain(self) -> None:
        await asyncio.gather(*(owner.drain() for owner in self._owners.values()))
        if self._runs:
            await asyncio.wait(set(self._runs.values()), timeout=self._settings.drain_timeout_seconds)

    async def _close_all(self) -> None:
        self._assigned = None  # nothing is acquired again
        self._membership.ignore_assignments()
        acquiring = set(self._acquiring.values())
        for task in acquiring:
            task.cancel()
        for number in list(self._owners):
            self._dismiss(number)
        if self._closing or acquiring:
            await asyncio.wait(self._closing | acquiring, timeout=self._settings.drain_timeout_seconds)

    async def _watch(self) -> None:
        """Export the backlog, and name partitions where work waits and nothing moves."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            self._teller.begin(self._membership, self._owners)
            try:
                await self._membership.look()
            except (KafkaError, TimeoutError) as error:
                self._metrics.errors.labels(type(error).__name__).inc()
        for number, owner in self._owners.items():
            flow = NumberFlow(self._membership, number)
            for topic, taken in owner.backlog().items():
                position, end = flow.reached(topic)
                behind = max(0, end - position) if position is not None and end is not None else 0
                self._metrics.backlog.labels(topic, str(number)).set(taken + behind)
            self._stalls.look(number, owner)

    def _fail(self, error: BaseException) -> None:
        log.error("worker can't go on", error=repr(error), exc_info=error)
        self._fatal = self._fatal or error
        self._stopped.set()

    def _new_membership(self) -> Membership:
        return Membership(self._processor.name, self._processor.inputs, self._names, self._settings)


def failure_pause(failures: int) -> float:
    """Seconds before the next try: a full disk or a bad broker is not better at once, and ten tries last 40 s."""
    return min(MOST_PAUSE_SECONDS, LEAST_PAUSE_SECONDS * 2.0 ** (failures - 1))


async def _cancel_and_close(task: "asyncio.Task[None]", owner: Owner) -> None:
    task.cancel()
    await asyncio.wait({task})
    await owner.close()
