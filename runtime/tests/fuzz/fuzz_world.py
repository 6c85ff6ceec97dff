"""A world in one event loop: the broker in memory, real workers as processes, faults, and what must be true at the end."""

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, cast

from aiokafka.errors import KafkaError
from fuzz_patches import CURRENT
from fuzz_processors import (
    CONTROL,
    INPUTS,
    JOURNAL,
    LETTERS,
    OUT,
    TABLE,
    Put,
    Recorder,
    create,
)  # fmt: skip
from fuzz_verdict import GROUP, PREFIX, WORKER, Verdict, Violation
from kafka_log import Entry
from kafka_model import Broker
from kafka_network import Fault, Network
from virtual_time import CLOCK, PROCESS, Process, Stuck, VirtualLoop

from odradek_runtime.blobs import BlobStore
from odradek_runtime.brokers import Brokers
from odradek_runtime.control import read_control
from odradek_runtime.errors import CommitFailedError, FencedError, WorkerError
from odradek_runtime.intake import Intake
from odradek_runtime.metrics import Metrics
from odradek_runtime.names import Names
from odradek_runtime.positions import parse_position
from odradek_runtime.settings import WorkerSettings
from odradek_runtime.worker import Worker
from odradek_schemas.codec import encode
from odradek_schemas.events import Event, PolicyUpdated
from odradek_schemas.topics import positions_topic

BOOTSTRAP = "broker:9092"
SETTINGS = WorkerSettings(bootstrap_servers=BOOTSTRAP, topic_prefix=PREFIX)
SETTLE_SECONDS = 240
"""Virtual seconds after the last fault in which all must be done."""
QUIET_SECONDS = 4
TROUBLE = (WorkerError, KafkaError, TimeoutError, OSError)
"""With these a service ends, and its supervisor starts it again."""


class MemoryBlobs:
    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    async def put(self, data: bytes, retention: str = "long") -> str:
        self._kept[f"{len(self._kept)}"] = data
        return f"{len(self._kept) - 1}"

    async def get(self, reference: str) -> bytes:
        return self._kept[reference]


class Member(Process):
    """A process that runs one worker."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.worker: Worker | None = None
        self.task: asyncio.Task[None] | None = None
        self.listening = False
        self.stopped = False

    @property
    def running(self) -> bool:
        return self.alive and self.task is not None and not self.task.done()


class World:
    """All that happens in one example. `static`: workers have stable names, and their supervisor restarts them."""

    def __init__(self, kind: str, seed: int, partitions: int = 2, static: bool = False) -> None:
        self.kind = kind
        self.partitions = partitions
        self.static = static
        self.draw = random.Random(seed)
        self.loop = VirtualLoop()
        CLOCK.loop = self.loop
        kept = (*INPUTS, OUT, JOURNAL, TABLE, LETTERS, positions_topic(WORKER))
        topics = {f"{PREFIX}{t}": partitions for t in kept}
        self.broker = Broker(self.loop, self.draw, {**topics, f"{PREFIX}{CONTROL}": 1})
        self.network = Network(self.loop, self.draw, self.broker)
        self.network.strike = self._strike
        self.recorder = Recorder(self.loop.time, lambda name: self.answered_at.get(name))
        self.processor = create(kind, self.recorder)
        self.blobs = cast(BlobStore, MemoryBlobs())
        self.members: list[Member] = []
        self.faults = 0
        self.inputs: dict[str, Put] = {}
        self.where: dict[str, tuple[str, int, int]] = {}
        self.ghosts: set[str] = set()
        self.poison: list[str | None] = []
        self.answered_at: dict[str, float] = {}
        self.controls: list[Event] = []
        self.rollouts: list[list[Any]] = []
        self.undecided: list[tuple[list[str], Callable[[bool], None]]] = []
        self._restarts: list[tuple[float, str | None]] = []
        self._graves: list[Any] = []
        self._names = 0
        CURRENT.network = self.network
        self.verdict = Verdict(self)
        mark = self.broker._mark
        self.broker.transactions._mark = lambda t, target, commit: self._note(t, target, commit, mark)

    # What is done to the world

    def start(self, name: str | None = None) -> None:
        """Start a worker process; a static one under `name`."""
        self._names += 1
        member = Member(name or f"p{self._names}")
        context = copy_context()
        context.run(PROCESS.set, member)
        member.task = self.loop.create_task(self._run(member), context=context)
        self.members.append(member)
        self.faults += 1

    def running(self) -> list[Member]:
        return [member for member in self.members if member.running]

    def kill(self, member: Member) -> None:
        """SIGKILL: it runs no further, and its connections are closed by the system."""
        self.faults += 1
        member.kill()
        self._graves.append(
            asyncio.all_tasks(self.loop)
        )  # else their coroutines would be collected, and unwind
        for connection in self.network.of(member):
            self.network.forget(connection)
        if self.static:
            self._restarts.append((self.loop.time() + self.draw.choice((0.1, 1.0, 5.0)), member.name))

    def pause(self, member: Member) -> None:
        self.faults += 2
        member.pause()

    def resume(self, member: Member) -> None:
        member.resume(self.loop)

    def stop(self, member: Member) -> None:
        """SIGTERM."""
        self.faults += 1
        member.stopped = True
        if member.worker is not None:
            self._inside(member, member.worker.stop)

    def arm(self, fault: Fault) -> None:
        self.network.faults.append(fault)

    def put(self, topic: str, kinds: list[tuple[int, str]], end: bool | None = None) -> None:
        """Append inputs in one batch: (rollout, kind). `end`: in a transaction that commits, aborts or stays open."""
        by_partition: dict[int, list[Put]] = defaultdict(list)
        for number, kind in kinds:
            rollout = self.rollouts[number]
            name = f"i{len(self.inputs) + len(self.ghosts)}"
            event = Put(
                id=name, run_id="run", rollout_id=f"r{number}", kind=cast(Any, kind), total=rollout[1]
            )
            if end is False:
                self.ghosts.add(name)
            else:
                self.inputs[name] = event
            by_partition[rollout[0]].append(event)
        for partition, events in by_partition.items():
            base = self.broker.logs[f"{PREFIX}{topic}", partition].end
            for index, event in enumerate(events):
                self.where[event.id] = topic, partition, base + index
            entries = [Entry(e.key, e.value, e.headers) for e in (encode(event, "test") for event in events)]
            mark = self.broker.write(f"{PREFIX}{topic}", partition, entries, end)
            if end is not None:
                self.undecided.append(
                    ([event.id for event in events], lambda commit, mark=mark, e=end: mark(e))
                )  # type: ignore[misc]

    def decide(self) -> None:
        """End the transactions of outside writers."""
        for _names, mark in self.undecided:
            mark(True)
        self.undecided.clear()

    def put_poison(self, topic: str, partition: int, named: bool) -> None:
        name = f"x{len(self.poison)}" if named else None
        self.poison.append(name)
        headers = (("ce_type", b"FuzzPut"), ("ce_id", (name or "").encode()), ("ce_rolloutid", b"poison"))
        entry = Entry(b"poison", b"{", headers if named else ())
        self.broker.write(f"{PREFIX}{topic}", partition, [entry])

    def tell(self, model: str) -> None:
        """An event of the `control` topic, which each running worker follows."""
        event = PolicyUpdated(id=f"c{len(self.controls)}", model=model, version=str(len(self.controls)))
        encoded = encode(event, "test")
        self.broker.write(f"{PREFIX}{CONTROL}", 0, [Entry(encoded.key, encoded.value, encoded.headers)])
        self.controls.append(event)
        for member in self.running():
            if member.listening and member.worker is not None:
                self._inside(member, member.worker.control, event)

    def compact(self) -> None:
        for partition in range(self.partitions):
            log = self.broker.logs[f"{PREFIX}{TABLE}", partition]
            log.compact(self.draw.randint(log.start, log.end))

    def purge(self) -> None:
        """Delete what no commit asks for any more, as the purger does."""
        offsets = self.broker.groups[GROUP].offsets
        for partition in range(self.partitions):
            for topic in INPUTS:
                committed = offsets.get((f"{PREFIX}{topic}", partition))
                if committed is not None:
                    position = parse_position(*committed)
                    self.broker.logs[f"{PREFIX}{topic}", partition].delete_before(position.lowest)
                    if position.restore_point is not None:
                        self.broker.logs[f"{PREFIX}{JOURNAL}", partition].delete_before(
                            position.restore_point
                        )

    def advance(self, seconds: float) -> None:
        """Let time pass; a supervisor starts again what ended in trouble."""
        while seconds > 0:
            step = min(seconds, 0.5)
            self.loop.run_for(step)
            seconds -= step
            self._supervise()

    # The end

    def settle(self) -> None:
        """Faults stop; then everything must be done within bounded time, and stay done."""
        self.network.faults.clear()
        if self.network.state != "up":
            self.network.heal()
        for member in self.members:
            if member.paused and member.alive:
                self.resume(member)
        self.decide()
        quiet = 0
        for _ in range(SETTLE_SECONDS):
            if not self._restarts and not [m for m in self.running() if not m.stopped]:
                self.start("w0" if self.static else None)
            self.advance(1.0)
            quiet = quiet + 1 if self.verdict.done() else 0
            if quiet == QUIET_SECONDS:
                break
        else:
            raise Violation(f"not done after {SETTLE_SECONDS} s: {self.verdict.unfinished()}")
        self.verdict.check()

    def restore_again(self) -> None:
        """Everybody stops cleanly, whoever starts them too; a new worker restores the state and has nothing to do."""
        outputs = self.verdict.answers()
        self._restarts.clear()
        leaving = self.running()
        for member in leaving:
            if not member.stopped:
                self.stop(member)
        self.advance(12)
        late = [member.name for member in leaving if member.running]
        if late:
            raise Violation(f"{late} did not stop")
        before = len(self.recorder.owners)
        self.start("w0" if self.static else None)
        self.advance(15)
        fresh = [o for o in self.recorder.owners[before:] if not o.closed and o.process.alive]
        if sorted(owner.partition for owner in fresh) != list(range(self.partitions)):
            raise Violation(f"a new worker owns {sorted(owner.partition for owner in fresh)}")
        if self.verdict.answers() != outputs:
            raise Violation("a new worker wrote outputs without inputs")
        self.verdict.check_states(fresh)
        self.verdict.check()

    def close(self) -> None:
        """Unwind every coroutine, dead processes' too."""
        self.network.state = "down"
        for member in self.members:
            self.resume(member)
        for _ in range(50):
            tasks = asyncio.all_tasks(self.loop)
            if not tasks:
                break
            for task in tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                task.cancel()
            with suppress(Stuck):
                self.loop.run_for(20.0)
        CLOCK.loop = None
        self.loop.close()

    # Inside

    async def _run(self, member: Member) -> None:
        settings = SETTINGS.model_copy(
            update={"partitions": self.partitions, "worker_id": member.name if self.static else None}
        )
        worker = member.worker = Worker(self.processor, settings, self.blobs, Metrics())
        await read_control(Brokers(BOOTSTRAP), Names(PREFIX), Intake("fuzz", self.blobs), worker.control)
        for event in self.controls:
            worker.control(event)
        member.listening = True
        if member.stopped:
            worker.stop()
        await worker.run()

    def _supervise(self) -> None:
        now = self.loop.time()
        for member in self.members:
            if member.alive and member.task is not None and member.task.done():
                member.alive = False
                error = member.task.exception()
                self._judge(member, error)
                if error is not None and not member.stopped:
                    self._restarts.append((now + 1.0, member.name if self.static else None))
        for restart in list(self._restarts):
            if restart[0] <= now:
                self._restarts.remove(restart)
                self.start(restart[1])

    def _judge(self, member: Member, error: BaseException | None) -> None:
        """A worker may end in trouble with the broker or for a bug of its handler, and for nothing else."""
        cause = error.__cause__ if isinstance(error, WorkerError) and error.__cause__ else error
        planned = isinstance(cause, RuntimeError) and "bug in the handling" in str(cause)
        known = isinstance(cause, (*TROUBLE, CommitFailedError, FencedError)) and "deleted" not in str(cause)
        if error is not None and not planned and not known:
            self.recorder.violations.append(f"{member.name} ended with {cause!r}")
        if error is not None:
            self.faults += 1

    def _strike(self, process: Process, effect: str) -> None:
        assert isinstance(process, Member)
        if not process.alive:
            return
        if effect == "kill":
            self.kill(process)
        else:
            self.pause(process)
            wait = self.draw.choice((1.0, 7.0, 13.0))
            self.broker.later(lambda: self.resume(process) if process.alive else None, wait)

    def _inside(self, member: Member, act: Callable[..., Any], *arguments: Any) -> None:
        context = copy_context()
        context.run(PROCESS.set, member)
        self.loop.call_soon(act, *arguments, context=context)

    def _note(self, transaction: Any, target: tuple[str, int], commit: bool, mark: Any) -> None:
        """Note when an answer became visible."""
        log = self.broker.logs[target]
        first = log.open.get(transaction.producer)
        mark(transaction, target, commit)
        if commit and first is not None and target[0] == f"{PREFIX}{OUT}":
            for batch in log.batches:
                if batch.base >= first and batch.producer == transaction.producer:
                    for record in batch.read():
                        self.answered_at.setdefault(json.loads(record.value)["of"], self.loop.time())
