"""Compacted changelogs: restored from their beginning, tombstones and the cleaner's work included."""

from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from runtime_lab import CALLS, Lab, Tally, TallyFold, call, reply, until, until_async

from odradek_runtime.folds import Fold, FoldContext, StatefulProcessor
from odradek_runtime.handlers import ConcurrentProcessor, Handler, HandlerContext
from odradek_runtime.records import Output, Outputs, Record, Tombstone
from odradek_schemas.codec import RecordError
from odradek_schemas.events import (
    Event,
    ModelCallRequested,
    RunCountRecorded,
    RunCounts,
    SessionRequested,
    SessionStateChanged,
)

pytestmark = pytest.mark.kafka

SESSIONS, LEDGER = "sessions", "ledger"


class SessionHandler:
    """Counts the calls of each session; a call that says `close` ends it."""

    def __init__(self, made: list["SessionHandler"], partition: int) -> None:
        made.append(self)
        self.partition = partition
        self.counts: dict[str, int] = {}
        self.restored: list[tuple[str, bool]] = []

    def restore(self, key: str, event: Event | None) -> None:
        self.restored.append((key, event is not None))
        if event is None:
            self.counts.pop(key, None)
        else:
            assert isinstance(event, SessionStateChanged)
            self.counts[key] = int(str(event.state["count"]))

    async def handle(self, event: Event, record: Record) -> Outputs:
        assert isinstance(event, ModelCallRequested)
        session = event.rollout_id
        if event.messages[0].text == "close":
            return [Tombstone(SESSIONS, session), reply(event, str(self.counts.pop(session, 0)))]
        self.counts[session] = count = self.counts.get(session, 0) + 1
        return [Output(SESSIONS, state(session, count)), reply(event, str(count))]

    def reject(self, record: Record, error: RecordError) -> Outputs:
        return []

    def control(self, event: Event) -> None:
        pass

    async def close(self) -> None:
        pass


def state(session: str, count: int) -> SessionStateChanged:
    ids: dict[str, Any] = {"run_id": "run", "rollout_id": session, "session_id": session}
    request = SessionRequested(id=session, environment="e", task={}, seed=0, timeout_seconds=1, **ids)
    return SessionStateChanged(id=f"{session}/{count}", request=request, state={"count": count}, **ids)


def sessions(made: list[SessionHandler]) -> ConcurrentProcessor:
    def create(context: HandlerContext) -> Handler:
        return SessionHandler(made, context.partition)

    return ConcurrentProcessor("sessions", (CALLS,), create, changelog=SESSIONS, ordered=True)


class CountFold(TallyFold):
    """Its state is one thing: how many calls the partition has seen."""

    def restore(self, event: Event, offset: int) -> None:
        assert isinstance(event, RunCountRecorded)
        self.restored_from.append(offset)
        self.seen = ["?"] * event.counts.finished

    def accept(self, event: Event, record: Record | None) -> Outputs:
        assert isinstance(event, ModelCallRequested)
        self.seen.append(event.id)
        count = RunCounts(finished=len(self.seen))
        return [
            Output(LEDGER, RunCountRecorded(id=f"n-{len(self.seen)}", run_id="run", counts=count)),
            reply(event, str(len(self.seen))),
        ]


def counting(made: list[CountFold]) -> StatefulProcessor:
    def create(context: FoldContext) -> Fold:
        fold = CountFold(Tally(), context)
        made.append(fold)
        return fold

    return StatefulProcessor("counting", (CALLS,), LEDGER, create, max_cycle_records=5)


@pytest.fixture
async def cleaned(kafka: str, prefix: str, lab: Lab) -> None:
    """Changelogs of tiny segments, which the cleaner empties at once."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    await admin.start()
    names = [prefix + SESSIONS, prefix + LEDGER]
    await admin.delete_topics(names)
    tiny = {
        "cleanup.policy": "compact",
        "segment.bytes": str(1024 * 1024),
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
        "max.compaction.lag.ms": "100",
    }

    async def made() -> bool:
        answer = await admin.create_topics([NewTopic(name, 2, 1, topic_configs=tiny) for name in names])
        return not any(code for _name, code, _why in answer.topic_errors)

    await until_async(made)
    await admin.close()


async def test_open_sessions_are_restored_and_closed_ones_are_not(lab: Lab) -> None:
    """Caught: tombstones that are skipped, or a state that is not the newest."""
    first = lab.start(sessions(made := []))
    await lab.owning(first)
    calls = [call(n, f"s{n % 4}") for n in range(12)]
    calls += [call(12, "s1", text="close"), call(13, "s2", text="close"), call(14, "s2")]
    await lab.send(CALLS, calls)
    await lab.answered(15)
    await first.stop()
    second = lab.start(sessions(made := []))
    await lab.owning(second)
    (handler,) = [handler for handler in made if handler.partition == 0]
    assert handler.counts == {"s0": 3, "s2": 1, "s3": 3}
    assert ("s1", False) in handler.restored
    await lab.send(CALLS, [call(15, "s0"), call(16, "s1")])
    results = {seen.event.call_id: seen.event.message.content for seen in await lab.answered(17)}
    assert (results["call-15"], results["call-16"]) == ("4", "1")


async def test_a_changelog_that_the_cleaner_has_emptied_is_restored_to_its_end(
    lab: Lab, cleaned: None
) -> None:
    """Caught: a restore that waits for offsets which compaction took away, its last ones included."""
    running = [lab.start(sessions([])), lab.start(counting([]))]
    for one in running:
        await lab.owning(one)
    for first in range(0, 60, 20):  # in steps: of one cycle's states of a thing only the newest is written
        await lab.send(CALLS, [call(n, f"s{n % 2}") for n in range(first, first + 20)])
        await lab.answered(2 * (first + 20))
    await lab.send(CALLS, [call(60, "s0", text="close"), call(61, "s1", text="close")])
    await lab.answered(2 * 62)
    for one in running:
        await one.stop()

    async def emptied() -> bool:
        # Segments roll only when something is written: an aborted transaction leaves nothing but a marker.
        async with lab.transactional("roller" + lab.prefix) as roller:
            await roller.begin_transaction()
            for topic in (SESSIONS, LEDGER):
                await roller.send_and_wait(lab.prefix + topic, b"{}", b"k", 0)
            await roller.abort_transaction()
        left = len(await lab.read(SESSIONS)), len(await lab.read(LEDGER))
        # Not compared with what was written: the cleaner may have been there before that could be counted.
        return left[0] <= 2 and left[1] <= 1

    await until_async(emptied, 60)
    again = [lab.start(sessions(handlers := [])), lab.start(counting(folds := []))]
    for one in again:
        await lab.owning(one)
    (handler,) = [handler for handler in handlers if handler.partition == 0]
    (fold,) = [fold for fold in folds if fold.context.partition == 0]
    assert handler.counts == {}
    assert len(fold.seen) == 62
    assert len(fold.restored_from) <= 1
    await until(lambda: all(not one.task.done() for one in again))
