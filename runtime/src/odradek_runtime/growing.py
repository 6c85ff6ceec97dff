"""Adding partitions to a deployment's topics, under live rollouts (decision 13).

First `control` is told how many there are to be: from then on everybody who starts knows where the older things lie.
Then the topics get their partitions, one after another; nobody uses them before all have them, since no worker
starts on topics that differ. Each step may be done again: who was cut short calls again.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.new_partitions import NewPartitions
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.faults import reach
from odradek_runtime.leaving import stopped
from odradek_runtime.log_reader import log_bounds, read_log
from odradek_runtime.logs import get_logger
from odradek_runtime.names import Names
from odradek_runtime.partitioning import GROW_COMMAND, Layout, layout_of
from odradek_runtime.records import RawRecord
from odradek_runtime.topics import (
    APPLY_COMMAND,
    LOOK_EVERY_SECONDS,
    TopicError,
    find_topics,
    open_admin,
)
from odradek_schemas.codec import RecordError, decode, encode, read_envelope
from odradek_schemas.events import PartitionsAdded, RecordCoordinates
from odradek_schemas.topics import CONTROL, RUNS, TOPICS

GROW_SECONDS = 120.0
"""Deadline of adding partitions to all topics."""

log = get_logger(__name__)


@dataclass(frozen=True)
class Growth:
    """What is to be done: the `layout` that `control` is to tell, if it does not yet, and the topics that are to get
    more partitions, with how many each has."""

    layout: Layout
    told: bool
    topics: Mapping[str, int]

    @property
    def nothing(self) -> bool:
        return self.told and not self.topics


def plan_growth(known: Collection[int], found: Mapping[str, int], partitions: int) -> Growth:
    """What must be done for every topic to have `partitions`.

    `known`: the numbers that `control` tells of, none where partitions were never added. `found`: how many each topic
    has now, where that is declared to be the same for all.

    Raises:
        TopicError: they have more; or they never had fewer, which is no growth.
    """
    least, most = min(found.values()), max(found.values())
    if most > partitions:
        raise TopicError(
            f"there are topics with {most} partitions already: Kafka never takes partitions away, and what lies in "
            f"them would be lost. Give --partitions {most} or more"
        )
    # Nobody has worked on a number that not all topics have reached: a growth that was cut short leaves no trace.
    used = sorted({count for count in known if count <= least} | {least})
    layout = Layout(tuple(used) if partitions == least else (*used, partitions))
    told = list(layout.counts) == sorted(known) or (not known and len(layout.counts) == 1)
    return Growth(layout, told, {name: count for name, count in found.items() if count < partitions})


async def look_at_growth(
    brokers: Brokers, prefix: str, partitions: int, timeout_seconds: float = GROW_SECONDS
) -> Growth:
    """What must be done for every topic to have `partitions`; nothing is changed.

    Raises:
        TopicError: it can't be; topics are missing; or Kafka can't be reached in time.
    """
    async with open_admin(brokers, timeout_seconds) as admin:
        return await _look(admin, brokers, prefix, partitions)


async def grow_topics(
    brokers: Brokers, prefix: str, partitions: int, timeout_seconds: float = GROW_SECONDS
) -> Growth:
    """Give every topic `partitions`. Returns what was done; calling again finishes what was cut short.

    Raises:
        TopicError: as `look_at_growth`, or the broker refuses.
    """
    async with open_admin(brokers, timeout_seconds) as admin:
        growth = await _look(admin, brokers, prefix, partitions)
        if not growth.told:
            await _tell(brokers, Names(prefix), growth.layout)
        reach("grow.told")
        for name in sorted(growth.topics, key=lambda name: (name == prefix + RUNS.name, name)):
            await admin.create_partitions({name: NewPartitions(partitions)})
            reach("grow.topic")
        await _until_visible(admin, brokers, prefix, partitions)
        return growth


async def read_layout(brokers: Brokers, names: Names, partitions: int) -> Layout:
    """What `control` tells of the topics; they have had `partitions` ever since where it tells nothing.

    Raises:
        KafkaError: the broker does not answer well.
    """
    return layout_of(await _told(brokers, names), partitions)


def check_layout(layout: Layout, partitions: int) -> None:
    """Make sure that a worker that starts agrees with the log on where things lie.

    Raises:
        TopicError: partitions were being added and that was cut short, or it was done by another tool.
    """
    if layout.now == partitions:
        return
    told = f"the topics have {partitions} partitions, and `{CONTROL.name}` tells of {layout.now}"
    if layout.now > partitions:
        raise TopicError(
            f"{told}: adding them was cut short. Run `{GROW_COMMAND} --partitions {layout.now}` again, or with "
            f"{partitions} to leave it"
        )
    raise TopicError(
        f"{told}: they were added by another tool. Run `{GROW_COMMAND} --partitions {partitions}`, which says so there"
    )


async def _look(admin: AIOKafkaAdminClient, brokers: Brokers, prefix: str, partitions: int) -> Growth:
    names = {prefix + topic.name for topic in TOPICS}
    found = await find_topics(admin, names)
    missing = sorted(names - found.keys())
    counts = {
        prefix + topic.name: found[prefix + topic.name].partitions
        for topic in TOPICS
        if not topic.single and prefix + topic.name in found
    }
    if missing and len(set(counts.values())) < 2:
        raise TopicError(f"topics are missing: {', '.join(missing)}. Run `{APPLY_COMMAND}` first")
    told = await _told(brokers, Names(prefix))
    return plan_growth(told[-1].counts if told else (), counts, partitions)


async def _until_visible(admin: AIOKafkaAdminClient, brokers: Brokers, prefix: str, partitions: int) -> None:
    """Brokers learn from the controller what was changed: wait for it, within the caller's deadline."""
    while True:
        if (await _look(admin, brokers, prefix, partitions)).nothing:
            return
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def _told(brokers: Brokers, names: Names) -> list[PartitionsAdded]:
    """The records of `control` that tell of partitions."""
    partition = TopicPartition(names.topic(CONTROL.name), 0)
    start, end = (await log_bounds(brokers, [partition]))[partition]
    found = []
    async for records in read_log(brokers, partition, start, end):
        found += [event for record in records if (event := _partitions_added(record)) is not None]
    return found


def _partitions_added(record: RawRecord) -> PartitionsAdded | None:
    """The event, if the record is one of these; a bad record must not stop every command, so it is said in the log."""
    place = RecordCoordinates(topic=record.topic, partition=record.partition, offset=record.offset)
    if record.value is None:
        return None
    try:
        envelope = read_envelope(record.headers, place)
        if envelope.type != PartitionsAdded.__name__:
            return None
        event = decode(CONTROL, envelope, record.value, place)
    except RecordError as error:
        log.error("control record can't be read", record=str(place), reason=error.reason)
        return None
    return event if isinstance(event, PartitionsAdded) else None


async def _tell(brokers: Brokers, names: Names, layout: Layout) -> None:
    event = PartitionsAdded(id="partitions/" + "-".join(map(str, layout.counts)), counts=list(layout.counts))
    record = encode(event, "cli")
    producer = AIOKafkaProducer(**brokers.client(), acks="all", enable_idempotence=True)
    try:
        await producer.start()
        await producer.send_and_wait(
            names.topic(CONTROL.name), record.value, record.key, partition=0, headers=list(record.headers)
        )
    except KafkaError as error:
        raise TopicError(f"{CONTROL.name} could not be told of the partitions: {error!r}") from error
    finally:
        await stopped(producer)
