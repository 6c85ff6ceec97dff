"""Records that no worker can read, as a foreign program or a damaged disk might leave them."""

import base64
import os
import shutil
import signal
from dataclasses import dataclass
from enum import StrEnum

from aiokafka import AIOKafkaProducer

from odradek_schemas.codec import Headers
from odradek_schemas.events import RecordRejected, RewardAssigned
from odradek_schemas.topics import BY_NAME
from tests.chaos.arena import Field
from tests.chaos.faults import failing
from tests.chaos.strikes import Progress
from tests.chaos.watch import Sight
from tests.chaos.workers import VERIFIER

NOBODY = "nobody"
"""The run that the records are about: there is none of that name."""


class Poison(StrEnum):
    """What is wrong with a record. Its value says so, too."""

    NO_HEADERS = "it has no headers"
    NO_JSON = "its value is no JSON"
    WRONG_SHAPE = "its value is JSON of another shape"
    WRONG_TYPE = "its type belongs to another topic"
    NO_BLOB = "its value lies in a blob that is gone"


@dataclass(frozen=True)
class Subject:
    """What a record seems to be about: `id` is the event's."""

    type: str
    id: str
    run: str
    rollout: str | None


def headers(subject: Subject, poison: Poison) -> Headers:
    """The headers of an unreadable record."""
    if poison is Poison.NO_HEADERS:
        return ()
    told = [
        ("ce_specversion", b"1.0"),
        ("ce_type", b"Unheard" if poison is Poison.WRONG_TYPE else subject.type.encode()),
        ("ce_id", subject.id.encode()),
        ("ce_source", b"chaos"),
        ("ce_runid", subject.run.encode()),
    ]
    if subject.rollout is not None:
        told.append(("ce_rolloutid", subject.rollout.encode()))
    if subject.type == "RewardAssigned":
        told.append(("ce_scoring", b"primary"))
    if poison is Poison.NO_BLOB:
        told.append(("ce_dataref", b"long/2026-01-01/sha256:" + b"0" * 64))
    return tuple(told)


def value(poison: Poison) -> bytes:
    return {Poison.WRONG_SHAPE: b'{"it": "is", "not": ["what", "was", "meant"]}', Poison.NO_BLOB: b""}.get(
        poison, f"\x00\xff {{ {poison}".encode("latin-1")
    )


@dataclass(frozen=True)
class Poisoned:
    """One record of each poison in every partition of `topic`, about events of `type` of a run that is not there.

    `event` is the event's id, below the rollout's (the run's where `of_run`).
    """

    topic: str
    type: str
    event: str
    of_run: bool = False
    after: Progress = Progress("rewards", 4, 12)  # noqa: RUF009 - frozen

    async def strike(self, on: Field) -> None:
        await self.after.reached(on)
        async with AIOKafkaProducer(bootstrap_servers=on.arena.stack.log.bootstrap) as producer:
            for partition in range(1 if BY_NAME[self.topic].single else on.arena.stack.settings.partitions):
                for poison in Poison:
                    subject = self.subject(on.run, partition, poison)
                    await producer.send_and_wait(
                        on.arena.stack.log.prefix + self.topic,
                        value(poison),
                        subject.id.encode(),
                        partition,
                        headers=list(headers(subject, poison)),
                    )

    def subject(self, run: str, partition: int, poison: Poison) -> Subject:
        nobody = f"{NOBODY}-{run}-{partition}-{poison.name.lower()}"
        rollout = None if self.of_run else f"{nobody}/0/0"
        return Subject(self.type, f"{rollout or nobody}{self.event}", nobody, rollout)


@dataclass(frozen=True)
class TypedFailures:
    """Whoever might wait for one of the unreadable records was told: by events of `types`, `each` time."""

    types: frozenset[str]
    records: int

    async def problems(self, on: Field) -> list[str]:
        told = [sight for sight in about_nobody(on) if sight.type in self.types]
        if len(told) == self.records:
            return []
        return [
            f"{len(told)} typed failures ({sorted(self.types)}), not {self.records}: {[s.id for s in told]}"
        ]


@dataclass(frozen=True)
class Whole:
    """Each dead letter has what was in the record."""

    async def problems(self, on: Field) -> list[str]:
        letters = [s.event for s in on.arena.watch.sights if isinstance(s.event, RecordRejected)]
        values = {base64.b64decode(letter.record_value or "") for letter in letters}
        strange = values - {value(poison) for poison in Poison}
        return [f"dead letters of other records: {strange}"] if strange else []


def about_nobody(on: Field) -> list[Sight]:
    """What was written, by workers, of the run that is not there."""
    return [s for s in on.arena.watch.sights if (s.run or "").startswith(NOBODY) and s.source != "chaos"]


@dataclass(frozen=True)
class PoisonedAnswer:
    """An answer that can't be read, for one call of the run that is in flight. The true one comes later."""

    asked: str
    answers: str
    request: str
    answer: str

    async def strike(self, on: Field) -> None:
        watch = on.arena.watch
        await watch.until(lambda: self._in_flight(on) is not None, 60, f"a {self.request} in flight")
        call = self._in_flight(on)
        assert call is not None
        subject = Subject(self.answer, f"{call.id}/completed", on.run, call.rollout)
        async with AIOKafkaProducer(bootstrap_servers=on.arena.stack.log.bootstrap) as producer:
            await producer.send_and_wait(
                on.arena.stack.log.prefix + self.answers,
                value(Poison.NO_JSON),
                (call.rollout or "").encode(),
                call.partition,
                headers=list(headers(subject, Poison.NO_JSON)),
            )

    def _in_flight(self, on: Field) -> Sight | None:
        """The newest call without an answer: the others may have theirs any moment."""
        watch = on.arena.watch
        answered = {sight.id.rpartition("/")[0] for sight in watch.of(on.run, self.answers)}
        open_calls = [
            s for s in watch.of(on.run, self.asked) if s.type == self.request and s.id not in answered
        ]
        return open_calls[-1] if open_calls else None


@dataclass(frozen=True)
class SecondAttempt:
    """One rollout, and no other, was completed in another attempt."""

    async def problems(self, on: Field) -> list[str]:
        events = [s.event for s in on.arena.watch.of(on.run, "rewards")]
        attempts = sorted(e.attempt for e in events if isinstance(e, RewardAssigned))
        return [] if attempts == [1] * (len(attempts) - 1) + [2] else [f"attempts of rollouts: {attempts}"]


@dataclass(frozen=True)
class LostBlobs:
    """The blobs of the run's trajectories vanish before the verifier-worker reads them."""

    trajectories: int

    async def strike(self, on: Field) -> None:
        pid = on.arena.workers.pid(VERIFIER)
        os.kill(pid, signal.SIGSTOP)
        try:
            await Progress("trajectories", self.trajectories, self.trajectories).reached(on)
            shutil.rmtree(on.arena.stack.settings.folder / "blobs" / "long")
        finally:
            os.kill(pid, signal.SIGCONT)


@dataclass(frozen=True)
class PoisonedChangelog:
    """A record that can't be read in each partition of a changelog, and the death of the worker that restores it."""

    topic: str
    part: str

    async def strike(self, on: Field) -> None:
        stack = on.arena.stack
        subject = Subject("HarnessStuck", f"{NOBODY}/0/0/x", NOBODY, f"{NOBODY}/0/0")
        async with AIOKafkaProducer(bootstrap_servers=stack.log.bootstrap) as producer:
            for partition in range(stack.settings.partitions):
                await producer.send_and_wait(
                    stack.log.prefix + self.topic,
                    value(Poison.NO_JSON),
                    b"nobody",
                    partition,
                    headers=list(headers(subject, Poison.NO_JSON)),
                )
        os.kill(on.arena.workers.pid(self.part), signal.SIGKILL)
        await failing(on, f"the changelog can't be restored: {self.topic}[", self.part)
