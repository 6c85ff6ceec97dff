"""Committing in the middle of a record's handling: what a handler must have written down before it goes on."""

import asyncio

import pytest
from runtime_lab import CALLS, Echo, EchoHandler, Lab, call, until

from odradek_runtime.handlers import ConcurrentProcessor, Handler, HandlerContext
from odradek_runtime.records import Output, Outputs, Record
from odradek_schemas.events import Event, ModelCallRequested, SessionRequested, SessionStateChanged

pytestmark = pytest.mark.kafka

SESSIONS = "sessions"


def note(event: ModelCallRequested, text: str) -> Output:
    """A record of a compacted topic, keyed by the event's rollout."""
    names = {"run_id": event.run_id, "rollout_id": event.rollout_id, "session_id": event.rollout_id}
    request = SessionRequested(id=event.id, **names, environment="e", task={}, seed=0, timeout_seconds=1)
    return Output(SESSIONS, SessionStateChanged(id=event.id, **names, request=request, state={"note": text}))


class NotingHandler(EchoHandler):
    """Writes down each call that is not `plain` before it works on it; a plain one it writes down with its answer."""

    def __init__(self, noting: "Noting", context: HandlerContext) -> None:
        super().__init__(noting, context.partition)
        self.noting = noting
        self.context = context
        self.notes: dict[str, str] = {}

    def restore(self, key: str, event: Event | None) -> None:
        assert isinstance(event, SessionStateChanged)
        self.notes[key] = str(event.state["note"])

    async def handle(self, event: Event, record: Record) -> Outputs:
        assert isinstance(event, ModelCallRequested)
        if event.messages[0].text == "plain":
            return [note(event, event.id), *await super().handle(event, record)]
        self.noting.asked.append(event.id)
        await self.context.commit([note(event, event.id)])
        self.noting.noted.append(event.id)
        return await super().handle(event, record)


class Noting(Echo):
    """A concurrent processor of NotingHandlers. `asked` and `noted`: who began, and who was told, a commit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked: list[str] = []
        self.noted: list[str] = []

    def processor(self) -> ConcurrentProcessor:
        return ConcurrentProcessor(
            self.name, self.inputs, self._create, changelog=SESSIONS, ordered=self.ordered
        )

    def _create(self, context: HandlerContext) -> Handler:
        handler = NotingHandler(self, context)
        self.handlers.append(handler)
        return handler


async def notes(lab: Lab) -> list[str]:
    """What readers find noted, in the log's order."""
    return [seen.event.state["note"] for seen in await lab.read(SESSIONS)]


async def test_what_was_committed_midway_is_there_while_its_record_is_unfinished(lab: Lab) -> None:
    """Caught: a commit that counts the record as finished, or that is told before readers see it."""
    noting = Noting()
    noting.gate.clear()
    running = lab.start(noting.processor(), drain_timeout_seconds=0.5)
    await lab.owning(running)
    await lab.send(CALLS, [call(0)])
    await until(lambda: noting.noted == ["call-0"])
    assert await notes(lab) == ["call-0"]
    assert await lab.answers() == []
    position = (await lab.committed("echo"))[0]
    assert (position.offset, position.unfinished) == (1, (0,))
    await running.stop()

    heir = Noting()
    await lab.owning(lab.start(heir.processor()))
    await lab.answered(1)
    assert heir.begun == ["call-0"]
    assert [handler.notes for handler in heir.handlers if handler.partition == 0] == [{"run/0/0": "call-0"}]  # type: ignore[attr-defined]


async def test_commits_midway_keep_the_order_of_outputs(lab: Lab) -> None:
    """Caught: of one thing's two states in one cycle, writing the older one."""
    noting = Noting(ordered=True)
    running = lab.start(noting.processor())
    await lab.owning(running)
    pairs = range(0, 10, 2)
    for number in pairs:
        noting.gate.clear()
        rollout = f"run/{number}/0"
        await lab.send(CALLS, [call(number, rollout, "plain"), call(number + 1, rollout)])
        await until(lambda number=number: f"call-{number}" in noting.begun)
        noting.gate.set()
        await until(lambda number=number: f"call-{number + 1}" in noting.ended)
    await lab.answered(10)
    newest = {seen.key: seen.event.state["note"] for seen in await lab.read(SESSIONS)}
    assert sorted(newest.values()) == sorted(f"call-{number + 1}" for number in pairs)


async def test_an_owner_that_is_fenced_never_tells_that_it_committed(lab: Lab) -> None:
    """Caught: going on as if it were written down: the effect would happen here, and again at the next owner's."""
    noting = Noting()
    running = lab.start(noting.processor())
    await lab.owning(running)
    async with lab.transactional(lab.transactional_id("echo", 0)):
        await lab.send(CALLS, [call(0)])
        await lab.answered(1)
    assert noting.asked == ["call-0", "call-0"]
    assert noting.noted == ["call-0"]
    assert await notes(lab) == ["call-0"]
    assert await lab.answers() == ["call-0"]


async def test_a_worker_that_drains_still_commits_midway(lab: Lab) -> None:
    """Caught: a stop that leaves those waiting who asked for a commit after it."""
    noting = Noting()
    running = lab.start(noting.processor())
    await lab.owning(running)
    handler = next(handler for handler in noting.handlers if handler.partition == 0)

    async def work(event: ModelCallRequested, _handler: EchoHandler) -> None:
        await noting.gate.wait()
        await handler.context.commit([note(event, "draining")])  # type: ignore[attr-defined]

    noting.work = work  # type: ignore[method-assign]
    noting.gate.clear()
    await lab.send(CALLS, [call(0)])
    await until(lambda: noting.begun == ["call-0"])
    stopping = asyncio.ensure_future(running.stop())
    await until(lambda: not running.worker.ready)
    noting.gate.set()
    await stopping
    assert await notes(lab) == ["call-0", "draining"]
    assert await lab.answers() == ["call-0"]


async def test_a_closed_owner_commits_nothing_more(lab: Lab) -> None:
    """Caught: a task that outlives its owner and is told that it committed, or waits for ever."""
    noting = Noting()
    running = lab.start(noting.processor())
    await lab.owning(running)
    handler = noting.handlers[0]
    await running.stop()
    with pytest.raises(asyncio.CancelledError):
        await handler.context.commit([note(call(0), "late")])  # type: ignore[attr-defined]
    assert await notes(lab) == []
