"""Known ways to break the runtime, each a promise that the fuzz must see broken. Nothing of this runs elsewhere."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuzz_processors import INPUTS
from fuzz_verdict import GROUP, PREFIX

from odradek_runtime import acquisition, log_reader, preparing, worker
from odradek_runtime.acquisition import Acquisition
from odradek_runtime.committer import Committer
from odradek_runtime.concurrent import ConcurrentOwner
from odradek_runtime.membership import Membership
from odradek_runtime.names import Names
from odradek_runtime.positions import Position, format_restore_point
from odradek_runtime.restoring import restore_fold, restore_handler
from odradek_runtime.stateful import StatefulOwner
from odradek_runtime.window import Window
from odradek_runtime.worker import Worker

Patch = Callable[[Any, str, Any], None]
"""`setattr`, undone at the test's end (pytest's `monkeypatch.setattr`)."""


@dataclass(frozen=True)
class Mutation:
    """`kinds`: the processors in which it must be seen."""

    what: str
    kinds: tuple[str, ...]
    apply: Callable[[Patch], None]


MUTATIONS: dict[str, Mutation] = {}


def mutation(what: str, *kinds: str) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def add(apply: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTATIONS[apply.__name__] = Mutation(what, kinds, apply)
        return apply

    return add


@mutation("the positions are committed, the outputs are not", "journal", "loose")
def offsets_without_outputs(patch: Patch) -> None:
    transact = Committer._transact

    async def without(self: Committer, batches: Any) -> Any:
        positions = [batch for batch in batches if batch[0].topic == self._names.positions(self._worker)]
        return await transact(self, positions if self.commits == 3 else batches)

    patch(Committer, "_transact", without)


@mutation("the outputs are committed, the positions are not", "journal", "loose")
def outputs_without_offsets(patch: Patch) -> None:
    transact = Committer._transact

    async def without(self: Committer, batches: Any) -> Any:
        outputs = [batch for batch in batches if batch[0].topic != self._names.positions(self._worker)]
        return await transact(self, outputs if self.commits == 3 else batches)

    patch(Committer, "_transact", without)


@mutation("sends are not awaited before the commit", "journal", "loose")
def sends_not_awaited(patch: Patch) -> None:
    async def transact(self: Committer, batches: Any) -> Any:
        producer = self._producer
        await producer.begin_transaction()
        sends = [await producer.send_batch(b, t.topic, partition=t.partition) for t, b in batches]
        await producer.commit_transaction()
        self.commits += 1
        for sent in sends:
            with contextlib.suppress(Exception):
                await sent
        return {}

    patch(Committer, "_transact", transact)


@mutation("no fence: each owner has a transactional id of its own", "journal", "ordered")
def no_fence(patch: Patch) -> None:
    numbers = iter(range(10**9))
    patch(Names, "transactional_id", lambda self, name, n: f"{self.prefix}{name}-{n}-{next(numbers)}")


@mutation("committed positions are read before the fence", "journal", "loose")
def positions_before_the_fence(patch: Patch) -> None:
    acquire, read = Acquisition.acquire, acquisition.read_positions
    early: dict[Any, Any] = {}

    async def acquire_late(self: Acquisition, partition: int, still_owned: Any, restore: Any) -> Any:
        kept = acquisition.TopicPartition(self._names.positions(self._worker), partition)
        bounds = await acquisition.log_bounds(self._settings.brokers, [kept])
        early[kept] = await read(self._settings.brokers, kept, *bounds[kept])
        return await acquire(self, partition, still_owned, restore)

    async def remembered(brokers: Any, kept: Any, start: int, end: int) -> Any:
        return early[kept]

    patch(Acquisition, "acquire", acquire_late)
    patch(acquisition, "read_positions", remembered)


@mutation("an owner starts from the group's offsets, which a broker may forget", "journal", "loose")
def positions_of_the_group(patch: Patch) -> None:
    async def from_the_group(brokers: Any, kept: Any, start: int, end: int) -> Any:
        consumer = log_reader.AIOKafkaConsumer(**brokers.client(), group_id=GROUP)
        await consumer.start()
        try:
            found = {}
            for topic in INPUTS:
                where = acquisition.TopicPartition(PREFIX + topic, kept.partition)
                for told in (await consumer._coordinator.fetch_committed_offsets([where])).values():
                    found[topic] = (told.offset, told.metadata)
            return found
        finally:
            await consumer.stop()

    patch(acquisition, "read_positions", from_the_group)


@mutation("the changelog is read before the fence", "journal", "ordered")
def restored_before_the_fence(patch: Patch) -> None:
    fence = Committer.fence.__func__  # type: ignore[attr-defined]
    restore = Acquisition._restore
    arguments: dict[str, Any] = {}

    async def fence_later(cls: Any, *args: Any) -> Any:
        return arguments.setdefault("late", args) and args

    async def restore_first(self: Acquisition, partition: int, committer: Any, take: Any) -> Any:
        acquired = await restore(self, partition, committer, take)
        fenced = await fence(Committer, *committer)
        return acquisition.Acquired(fenced, acquired.positions, acquired.changelog_end)

    patch(Committer, "fence", classmethod(fence_later))
    patch(Acquisition, "_restore", restore_first)


@mutation(
    "a restore ends when the last record's offset plus one is the end: markers make it wait for ever",
    "journal",
)
def counting_across_markers(patch: Patch) -> None:
    async def read_log(brokers: Any, partition: Any, start: int, end: int) -> Any:
        if start >= end:
            return
        async with log_reader.AIOKafkaConsumer(
            **brokers.client(), group_id=None, isolation_level="read_committed", auto_offset_reset="none",
            enable_auto_commit=False,
        ) as consumer:  # fmt: skip
            consumer.assign([partition])
            consumer.seek(partition, start)
            last = start
            while last + 1 < end:
                fetched = await consumer.getmany(timeout_ms=200)
                for records in fetched.values():
                    last = records[-1].offset
                    yield records

    patch(acquisition, "read_log", read_log)


@mutation(
    "a restore ends at the last stable offset, while an old transaction is still open", "journal", "ordered"
)
def restored_to_the_last_record_seen(patch: Patch) -> None:
    async def read_log(brokers: Any, partition: Any, start: int, end: int) -> Any:
        async for records in log_reader.read_log(brokers, partition, start, end):
            yield records
            return

    patch(acquisition, "read_log", read_log)


@mutation("records that came before the owner was ready are dropped: no seek", "journal", "loose")
def no_seek(patch: Patch) -> None:
    def publish(self: Membership, number: int, positions: dict[str, int]) -> None:
        for topic in positions:
            partition = acquisition.TopicPartition(self._names.topic(topic), number)
            state = self._consumer._subscription.subscription.assignment.state_value(partition)
            if not state.has_valid_position:
                self._consumer.seek(partition, positions[topic])
            self._resume(partition)

    patch(Membership, "publish", publish)


@mutation("the state is kept after a failed commit", "journal", "ordered")
def state_reused_after_failure(patch: Patch) -> None:
    prepare = preparing.prepare
    kept: dict[Any, Any] = {}

    def reuse(processor: Any, number: int, *shared: Any) -> Any:
        metrics = shared[-1]
        state: Any = None

        def create(context: Any) -> Any:
            nonlocal state
            state = kept.pop((id(metrics), number), None) or processor.create(context)
            return state

        wrapped = type(processor)(**{**vars(processor), "create": create})
        prepared = prepare(wrapped, number, *shared)
        fresh = not getattr(state, "closed", False)

        async def restore(records: Any) -> None:
            if fresh:
                await prepared.restore(records)

        def build(acquired: Any) -> Any:
            kept[id(metrics), number] = state
            return prepared.build(acquired)

        return preparing.Prepared(restore, build, prepared.discard)

    patch(worker, "prepare", reuse)


@mutation("a record counts as finished when it is handed out", "loose", "ordered")
def finished_before_the_commit(patch: Patch) -> None:
    patch(Window, "commit", lambda self: (self._position, ""))


@mutation("the metadata leaves the oldest unfinished offset out", "loose")
def metadata_without_the_oldest(patch: Patch) -> None:
    commit = Window.commit

    def without(self: Window) -> tuple[int, str]:
        unfinished = dict(self._unfinished)
        if len(unfinished) > 1:
            del self._unfinished[min(unfinished)]
        found = commit(self)
        self._unfinished = unfinished
        return found

    patch(Window, "commit", without)


@mutation("what was finished above an unfinished record is handed out again", "loose")
def metadata_ignored(patch: Patch) -> None:
    patch(Position, "skips", lambda self, offset: False)


@mutation("the restore point is always the end", "journal")
def restore_point_at_the_end(patch: Patch) -> None:
    async def commit(self: StatefulOwner, outputs: Any) -> None:
        positions = {topic: (offset, "") for topic, offset in self._taken.items()}
        if self._processor.anchor is not None:
            anchor = self._processor.anchor
            positions[anchor] = (self._taken[anchor], format_restore_point(self._changelog_end))
        ends = await self._committer.commit(outputs, positions)
        self._committed = dict(self._taken)
        self._changelog_end = ends.get(self._processor.changelog, self._changelog_end)

    patch(StatefulOwner, "_commit", commit)


@mutation(
    "an owner outlives any rebalance, even if its number was another's in between", "journal", "ordered"
)
def owners_outlive_losses(patch: Patch) -> None:
    def on_assigned(self: Worker, numbers: frozenset[int], generation: int) -> None:
        self._assigned = numbers
        for number in self._owners.keys() & numbers:
            self._generations[number] = generation
            self._membership.publish(number, self._owners[number].positions())
        for number in sorted(numbers - self._owners.keys()):
            self._acquire(number)

    patch(Worker, "on_assigned", on_assigned)


@mutation("an owner whose number came back goes on reading where the consumer starts", "journal", "loose")
def survivors_not_sought(patch: Patch) -> None:
    publish = Membership.publish

    def only_once(self: Membership, number: int, positions: dict[str, int]) -> None:
        if number in self.__dict__.setdefault("_published", set()):
            return
        self.__dict__["_published"].add(number)
        publish(self, number, positions)

    patch(Membership, "publish", only_once)


@mutation("records of a rollout are handled at the same time", "ordered")
def not_in_order(patch: Patch) -> None:
    start = ConcurrentOwner._start

    def unordered(self: ConcurrentOwner, topic: str, raw: Any) -> None:
        self._ordered = False
        start(self, topic, raw)

    patch(ConcurrentOwner, "_start", unordered)


@mutation("events of control are not told to later owners", "journal", "loose")
def control_forgotten(patch: Patch) -> None:
    def control(self: Worker, event: Any) -> None:
        for owner in self._owners.values():
            owner.control(event)

    patch(Worker, "control", control)


@mutation("a fenced owner is dismissed and nobody acquires again", "journal", "loose")
def fenced_means_not_owning(patch: Patch) -> None:
    async def nothing(self: Worker) -> None:
        self._rejoin_wanted = False

    patch(Worker, "_rejoin", nothing)


@mutation("nothing is committed past the markers when idle", "journal", "loose")
def markers_not_passed(patch: Patch) -> None:
    patch(StatefulOwner, "_pass_markers", lambda self: None)
    patch(ConcurrentOwner, "_pass_markers", lambda self: None)


@mutation("tombstones say nothing to a handler", "ordered")
def tombstones_ignored(patch: Patch) -> None:
    def restore(handler: Any, changelog: Any, intake: Any) -> Any:
        original = restore_handler(handler, changelog, intake)

        async def take(records: Any) -> None:
            await original([record for record in records if record.value is not None])

        return take

    patch(preparing, "restore_handler", restore)


@mutation("a restore loses the last record of each fetch", "journal", "table")
def restore_loses_a_record(patch: Patch) -> None:
    def restore(fold: Any, changelog: Any, intake: Any) -> Any:
        original = restore_fold(fold, changelog, intake)

        async def take(records: Any) -> None:
            await original(records[:-1])

        return take

    patch(preparing, "restore_fold", restore)


def apply(name: str, patch: Patch = setattr) -> None:
    MUTATIONS[name].apply(patch)
