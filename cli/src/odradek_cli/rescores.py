"""Asking for a re-score on the log, and looking on until it is done.

A re-score is planned in one transaction: a request for each partition that holds trajectories of its range. Its id
names the transaction's producer, so of two who ask under one id at once one is refused, and who asks again later
finds the plan and follows it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import SCAN_SECONDS, Found, Log
from odradek_cli.rescore_diff import Score
from odradek_runtime.leaving import stopped
from odradek_runtime.log_reader import log_bounds, offsets_since
from odradek_schemas.base import JsonObject
from odradek_schemas.codec import Envelope, encode
from odradek_schemas.events import RescoreFinished, RescoreRequested, RewardAssigned
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.topics import RESCORES, REWARDS, TRAJECTORIES

PLAN_SECONDS = 60.0
"""Deadline of writing a plan."""
_SOURCE = "cli"
CLOCK_SKEW = timedelta(minutes=10)
"""How much earlier than a run's request its first trajectory may seem to be: another clock gave the time."""


@dataclass(frozen=True)
class Wish:
    """What is to be scored again, how, and under which id. `since`: trajectories that were written from then on.

    `recorded`: the settings that the run was played with, over which `settings` go.
    """

    id: str
    run_id: str | None
    environment: str | None
    verifier: str | None
    settings: JsonObject
    since: datetime
    recorded: JsonObject = field(default_factory=dict)

    def of(self, reward: RewardAssigned) -> bool:
        return self.environment in (None, reward.environment)

    def asked_at(self, moment: datetime) -> "Wish":
        """The wish as it was at `moment`, when it was first asked for: `7d` ago was seven days before that."""
        return replace(self, since=self.since - max(timedelta(), datetime.now(UTC) - moment))

    def asks(self, request: RescoreRequested) -> bool:
        """Whether `request` is a part of this wish."""
        mine = (self.run_id, self.environment, self.verifier, self.settings)
        return mine == (request.run_id, request.environment, request.verifier, request.settings)


@dataclass
class Standing:
    """How far a re-score of some `partitions` is: which of them are through, and its rewards so far.

    `rewards` counts them all: a trajectory that lies in the log twice has two, the first of which counts.
    """

    partitions: frozenset[int]
    begun: dict[int, int] = field(default_factory=dict)
    finished: dict[int, RescoreFinished] = field(default_factory=dict)
    after: dict[str, Score] = field(default_factory=dict)
    rewards: int = 0

    def take(self, found: Found) -> bool:
        """Take in an event; whether it was news. A request that was put off, and comes again as it was, is none."""
        event = found.event
        if isinstance(event, RescoreRequested):
            known = self.begun.get(event.partition, -1)
            self.begun[event.partition] = event.start
            return event.start > known
        if isinstance(event, RescoreFinished):
            self.finished[event.partition] = event
        elif isinstance(event, RewardAssigned):
            self.rewards += 1
            self.after.setdefault(event.rollout_id, Score.of(event))
        return True

    @property
    def wanted(self) -> int | None:
        """How many rewards there will be; None: not known before all partitions are through."""
        if self.unfinished:
            return None
        return sum(finished.counts.scored for finished in self.finished.values())

    @property
    def done(self) -> bool:
        return self.wanted is not None and self.rewards >= self.wanted

    @property
    def unfinished(self) -> list[int]:
        return sorted(self.partitions - set(self.finished))


async def ranges(log: Log, wish: Wish) -> dict[int, tuple[int, int]]:
    """By partition: the offsets of `trajectories` to be gone through, by the log's time index."""
    deployment = log.deployment
    name = deployment.names.topic(TRAJECTORIES.name)
    places = [TopicPartition(name, partition) for partition in range(log.partitions)]
    starts = await offsets_since(deployment.brokers, places, wish.since)
    bounds = await log_bounds(deployment.brokers, places)
    found = {place.partition: (starts[place], bounds[place][1]) for place in places}
    return {partition: (start, end) for partition, (start, end) in found.items() if start < end}


async def planned(log: Log, wish: Wish, within: float = SCAN_SECONDS) -> list[RescoreRequested]:
    """What was asked before under the wish's id.

    Raises:
        CliError: something else was.
    """
    every = await log.scan(RESCORES, lambda envelope: envelope.type == "RescoreRequested", within=within)
    found = [item.event for item in every if item.event.rescore_id == wish.id]
    if not all(wish.asks(request) for request in found):
        raise CliError(
            f"re-score {wish.id!r} was asked for before, with another run, environment, verifier or settings",
            Exit.INVALID_INPUT,
            "take another --id, or leave it out",
        )
    return found


def spans(requests: Iterable[RescoreRequested]) -> dict[int, tuple[int, int]]:
    """What a re-score goes through as it was planned, by partition, however far it is."""
    found: dict[int, tuple[int, int]] = {}
    for request in requests:
        start, _ = found.get(request.partition, (request.start, request.end))
        found[request.partition] = (min(start, request.start), request.end)
    return found


async def plan(log: Log, wish: Wish, wanted: Mapping[int, tuple[int, int]]) -> list[RescoreRequested]:
    """Write the requests, all or none; returns those that count, which another may have written just before.

    Raises:
        CliError: the log did not take them.
    """
    names = log.deployment.names
    producer = AIOKafkaProducer(
        **log.deployment.brokers.client(),
        transactional_id=f"{names.prefix}rescore-{wish.id}",
    )
    try:
        async with asyncio.timeout(PLAN_SECONDS):
            await producer.start()
            if asked := await planned(log, wish):
                return asked
            asked = [_request(wish, partition, start, end) for partition, (start, end) in wanted.items()]
            async with producer.transaction():
                for request in asked:
                    await _send(producer, names.topic(RESCORES.name), request)
            return asked
    except (KafkaError, TimeoutError) as error:
        raise CliError(
            f"the re-score could not be asked for: {type(error).__name__}: {error}",
            Exit.NO_STACK,
            f"ask again with --id {wish.id}: it is planned once",
        ) from error
    finally:
        await stopped(producer)


async def follow(
    log: Log, wish: Wish, partitions: Iterable[int], since: datetime, patience: float
) -> AsyncIterator[Standing]:
    """The re-score's standing, each time that something came of it, until it is done.

    Raises:
        CliError: for `patience` seconds nothing came.
    """
    standing = Standing(frozenset(partitions))
    sources = [(topic, p) for topic in (RESCORES, REWARDS) for p in range(log.partitions)]
    heard = time.monotonic()
    async for batch in log.follow(sources, _wanted(wish), since):
        news = [standing.take(found) for found in batch if _is_of(wish, found)]
        if any(news):
            heard = time.monotonic()
            yield standing
        if standing.done:
            return
        if time.monotonic() - heard > patience:
            raise _stalled(wish, standing, patience)


async def scores_before(
    log: Log, wish: Wish, wanted: Mapping[int, tuple[int, int]], within: float = SCAN_SECONDS
) -> dict[str, Score]:
    """The first scoring of the trajectories at the `wanted` offsets, by rollout."""

    def primary(envelope: Envelope) -> bool:
        return (
            envelope.type == "RewardAssigned"
            and envelope.scoring == PRIMARY_SCORING
            and wish.run_id in (None, envelope.run_id)
        )

    found = await log.scan(REWARDS, primary, since=wish.since, within=within)
    rewards = [item.event for item in found if wish.of(item.event) and _is_among(wanted, item.event)]
    return {reward.rollout_id: Score.of(reward) for reward in reversed(rewards)}


def _is_among(wanted: Mapping[int, tuple[int, int]], reward: RewardAssigned) -> bool:
    start, end = wanted.get(reward.trajectory.partition, (0, 0))
    return start <= reward.trajectory.offset < end


def _wanted(wish: Wish) -> "_Wanted":
    return _Wanted(wish.id)


@dataclass(frozen=True)
class _Wanted:
    id: str

    def __call__(self, envelope: Envelope) -> bool:
        if envelope.type == "RewardAssigned":
            return envelope.scoring == self.id
        return envelope.type in ("RescoreRequested", "RescoreFinished")


def _is_of(wish: Wish, found: Found) -> bool:
    return isinstance(found.event, RewardAssigned) or found.event.rescore_id == wish.id


def _request(wish: Wish, partition: int, start: int, end: int) -> RescoreRequested:
    return RescoreRequested(
        id=f"{wish.id}/{partition}/{start}",
        run_id=wish.run_id,
        rescore_id=wish.id,
        partition=partition,
        environment=wish.environment,
        verifier=wish.verifier,
        settings=wish.settings,
        start=start,
        end=end,
    )


async def _send(producer: AIOKafkaProducer, topic: str, request: RescoreRequested) -> None:
    record = encode(request, _SOURCE)
    await producer.send_and_wait(
        topic, record.value, record.key, partition=request.partition, headers=list(record.headers)
    )


def _stalled(wish: Wish, standing: Standing, patience: float) -> CliError:
    places = f"partitions {', '.join(map(str, standing.unfinished))}" if standing.unfinished else "judges"
    return CliError(
        f"re-score {wish.id}: for {patience:g} s nothing came; it waits for {places}",
        Exit.UNFINISHED,
        f"`odradek status` tells who does not work; `odradek rescore --id {wish.id}` with the same words looks on",
    )
