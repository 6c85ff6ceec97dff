"""Looking at how work stands.

All of it is read from the log and the groups, so that it can be told when every worker is dead: what each kind of
worker has committed, the journal from its restore point on, and the records behind the commits.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from aiokafka.errors import KafkaError
from pydantic import ValidationError

from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Log
from odradek_cli.standing import Behind, Standing, Wait
from odradek_cli.unfinished import Asked, Rollout, Unfinished
from odradek_runtime.groups import ASK_SECONDS, INPUTS, Groups, Member, Part, open_groups
from odradek_runtime.positions import Position, PositionError
from odradek_runtime.records import RawRecord
from odradek_runtime.tails import Tails, open_tails
from odradek_schemas import ids
from odradek_schemas.codec import Envelope, RecordError
from odradek_schemas.events import RecordCoordinates
from odradek_schemas.topics import (
    AGENT,
    ENV,
    GATEWAY,
    JOURNAL,
    MODEL_CALLS,
    MODEL_RESULTS,
    OBSERVATIONS,
    PRODUCER,
    REWARDS,
    TASKS,
    TOOL_ACTIONS,
    TRAJECTORIES,
    VERIFIER,
    WORKERS,
    Topic,
)

STANDING_SECONDS = 120.0
_QUEUES = (
    (TASKS, AGENT, "admission"),
    (TRAJECTORIES, VERIFIER, "verification"),
    (REWARDS, PRODUCER, "counting"),
)
_ANSWERS = {GATEWAY: MODEL_RESULTS, ENV: OBSERVATIONS}
_SESSION = {"open": "session opening", "close": "session closing"}


class _Pending(NamedTuple):
    """A request of a rollout that the journal has no answer to; what it asks for is not known yet."""

    rollout: Rollout
    on: str
    asked: Asked

    @property
    def since(self) -> datetime:
        return self.asked.since


async def look_around(log: Log, run_id: str | None, most: int, within: float = STANDING_SECONDS) -> Standing:
    """How things stand, of one run or of all; `most` waits are told.

    Raises:
        CliError: Kafka does not answer, or not within `within` seconds.
    """
    try:
        async with (
            asyncio.timeout(within) as whole,
            open_groups(log.deployment.brokers, log.deployment.names) as groups,
            open_tails(log.deployment.brokers, log.deployment.names) as tails,
        ):
            return await _Survey(log, groups, tails, run_id).standing(most)
    except (TimeoutError, KafkaError, PositionError) as error:
        why = _reason(error, within if whole.expired() else None)
        raise CliError(
            f"how work stands can't be read: {why}",
            Exit.NO_STACK,
            "again in a moment, or with a longer --timeout",
        ) from error


def _reason(error: Exception, within: float | None) -> str:
    """`within`: the look as a whole took longer; else one question had no answer."""
    if within is not None:
        return f"not within {within:g} s"
    return f"Kafka gave no answer within {ASK_SECONDS:g} s" if isinstance(error, TimeoutError) else str(error)


class _Survey:
    """One look: everything is read from bounds and positions that were asked for at the beginning."""

    def __init__(self, log: Log, groups: Groups, tails: Tails, run_id: str | None) -> None:
        self._log = log
        self._groups = groups
        self._tails = tails
        self._run_id = run_id
        self._bounds: dict[Part, tuple[int, int]] = {}
        self._positions: dict[str, dict[Part, Position]] = {}
        self._workers: dict[str, tuple[Member, ...]] = {}
        self._places: dict[str, int] = {}

    async def standing(self, most: int) -> Standing:
        for worker in WORKERS:
            self._workers[worker] = await self._groups.members(worker)
            self._positions[worker] = await self._groups.positions(worker, self._parts(INPUTS[worker]))
        everything = {topic for worker in WORKERS for topic in INPUTS[worker]} | {JOURNAL}
        self._bounds = await self._tails.bounds(self._parts(everything))
        queued = [wait for topic, worker, kind in _QUEUES async for wait in self._queued(topic, worker, kind)]
        playing = await self._playing()
        every: list[Wait | _Pending] = [*queued, *_pending(playing)]
        oldest = sorted(every, key=_since)[:most]
        answers = await self._answers() if any(isinstance(wait, _Pending) for wait in oldest) else set()
        waits = [wait if isinstance(wait, Wait) else await self._wait(wait, answers) for wait in oldest]
        return Standing(
            self._workers,
            self._counts(queued, playing),
            tuple(waits),
            tuple([behind async for behind in self._behind()]),
            {worker: self._passed(worker) for worker in WORKERS},
        )

    def _passed(self, worker: str) -> int:
        offsets = {part: position.offset for part, position in self._positions[worker].items()}
        return sum(offsets.get(part, self._bounds[part][0]) for part in self._parts(INPUTS[worker]))

    def _counts(self, queued: list[Wait], playing: list[Rollout]) -> dict[str, int]:
        counts = {kind: sum(wait.kind == kind for wait in queued) for _topic, _worker, kind in _QUEUES}
        return {"admission": counts.pop("admission"), "play": len(playing), **counts}

    async def _queued(self, topic: Topic, worker: str, kind: str) -> AsyncIterator[Wait]:
        """Rollouts that a kind of worker has not taken up, or not finished."""
        spans = {part: (self._lowest(worker, part), self._bounds[part][1]) for part in self._parts([topic])}
        async for part, record, envelope in self._tails.read(spans):
            position = self._positions[worker].get(part)
            if envelope.rollout_id is None or not self._of_run(envelope.run_id):
                continue
            if position is None or not position.skips(record.offset):
                state = self._state(worker, part, record.offset)
                yield Wait(envelope.rollout_id, kind, envelope.id, _time(record), worker, state)

    async def _playing(self) -> list[Rollout]:
        """The unfinished rollouts: the journal from where a new agent-worker would begin to read it."""
        unfinished = Unfinished()
        spans = {}
        for number in range(self._log.partitions):
            start, end = self._bounds[JOURNAL.name, number]
            anchor = self._positions[AGENT].get((TASKS.name, number))
            point = anchor.restore_point if anchor else None
            spans[JOURNAL.name, number] = (start if point is None else max(start, point), end)
        async for part, record, envelope in self._tails.read(spans):
            if self._of_run(envelope.run_id) and record.value is not None:
                self._places[envelope.rollout_id or ""] = part[1]
                try:
                    unfinished.take(await self._value(record, envelope), _time(record))
                except RecordError as error:
                    self._log.unreadable.append(error)
                except ValidationError as error:
                    self._log.unreadable.append(RecordError(_place(record), str(error)))
        return list(unfinished.rollouts.values())

    async def _value(self, record: RawRecord, envelope: Envelope) -> bytes:
        if envelope.dataref is None:
            return record.value or b""
        return await self._log.value(envelope, b"", _place(record))

    async def _answers(self) -> set[str]:
        """The calls and sessions whose answers the agent-worker has not accepted."""
        parts = self._parts([MODEL_RESULTS, OBSERVATIONS])
        spans = {part: (self._lowest(AGENT, part), self._bounds[part][1]) for part in parts}
        return {ids.subject_of(envelope.id) async for _part, _record, envelope in self._tails.read(spans)}

    async def _wait(self, pending: _Pending, answers: set[str]) -> Wait:
        """What a rollout waits for, from the request itself."""
        rollout, on, (since, written) = pending
        last = on.rpartition("/")[2]
        rollout_ends = rollout.began + timedelta(seconds=rollout.limits.rollout_seconds)
        wait = Wait(rollout.id, "timer", on, since, AGENT, "the harness sleeps", rollout_ends)
        for topic, worker in _likely(rollout, last):
            part = (topic.name, self._places[rollout.id])
            record = await self._tails.find(topic, part[1], on, written, self._bounds[part][1])
            if record is not None:
                wait = self._asked(wait, rollout, topic, worker, part, record)
                break
        subject = ids.subject_of(on) if last in _SESSION else on
        if rollout.stuck:
            wait = replace(wait, who=AGENT, state="its harness was stuck: the next agent-worker ends it")
        elif subject in answers:
            wait = replace(wait, who=AGENT, state="answered, not accepted yet")
        elif wait.overdue:
            wait = replace(
                wait, who=AGENT, state=f"overdue ({wait.state}): the agent-worker is to give it up"
            )
        return wait

    def _asked(
        self, wait: Wait, rollout: Rollout, topic: Topic, worker: str, part: Part, record: RawRecord
    ) -> Wait:
        last = wait.on.rpartition("/")[2]
        kind = "model call" if topic is MODEL_CALLS else _SESSION.get(last, "tool call")
        limits = rollout.limits
        seconds = {"model call": limits.model_seconds, "tool call": limits.tool_seconds}.get(
            kind, limits.session_seconds
        )
        due = min(wait.since + timedelta(seconds=seconds), wait.deadline or datetime.max.replace(tzinfo=UTC))
        return replace(
            wait, kind=kind, who=worker, state=self._state(worker, part, record.offset), deadline=due
        )

    def _state(self, worker: str, part: Part, offset: int) -> str:
        """How far a worker is with one record."""
        position = self._positions[worker].get(part)
        owner = self._owner(worker, part[1])
        if position is None or not position.skips(offset):
            return f"asked; {owner} has it" if owner else f"no {worker} owns partition {part[1]}"
        return "finished"

    async def _behind(self) -> AsyncIterator[Behind]:
        for worker in WORKERS:
            for part in self._parts(INPUTS[worker]):
                position, (start, end) = self._positions[worker].get(part), self._bounds[part]
                offset = start if position is None else position.offset
                record = await self._tails.first(part, offset, end) if offset < end else None
                if record is not None:
                    owner = self._owner(worker, part[1])
                    yield Behind(worker, part[0], part[1], end - offset, _time(record), owner)

    def _owner(self, worker: str, number: int) -> str | None:
        owners = (member for member in self._workers[worker] if number in member.numbers)
        return next((f"{member.client} on {member.host}" for member in owners), None)

    def _lowest(self, worker: str, part: Part) -> int:
        position, start = self._positions[worker].get(part), self._bounds[part][0]
        return start if position is None else max(start, position.lowest)

    def _of_run(self, run_id: str | None) -> bool:
        return self._run_id in (None, run_id)

    def _parts(self, topics: Iterable[Topic]) -> list[Part]:
        return [(topic.name, number) for topic in topics for number in range(self._log.partitions)]


def _pending(playing: Iterable[Rollout]) -> Iterator[_Pending]:
    for rollout in playing:
        for on, asked in rollout.waits.items():
            yield _Pending(rollout, on, asked)


def _likely(rollout: Rollout, last: str) -> Iterator[tuple[Topic, str]]:
    """Where the request may be, the likelier topic first: tools are asked for after a reply that calls them."""
    tools, model = (TOOL_ACTIONS, ENV), (MODEL_CALLS, GATEWAY)
    if last in _SESSION:
        yield tools
    else:
        yield from (tools, model) if rollout.last.startswith(("ModelCall", "ToolCall")) else (model, tools)


def _since(wait: Wait | _Pending) -> datetime:
    return wait.since


def _place(record: RawRecord) -> RecordCoordinates:
    return RecordCoordinates(topic=record.topic, partition=record.partition, offset=record.offset)


def _time(record: RawRecord) -> datetime:
    return datetime.fromtimestamp(record.timestamp / 1000, UTC)
