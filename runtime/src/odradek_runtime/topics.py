"""Topics as a deployment must have them: created, compared with what is declared, and checked at a worker's start.

Topics that workers read are kept without a limit of time or size: the purger alone shortens them, and never what
is unread.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from odradek_runtime.brokers import Brokers
from odradek_runtime.partitioning import advice
from odradek_runtime.unreachable import why_unreachable
from odradek_schemas.topics import TOPICS, Kept, Topic

APPLY_COMMAND = "odradek topics apply"
KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
COMPACTED = {"cleanup.policy": "compact"}
SET_ON_TOPIC = 1  # DescribeConfigs' config source of what was set on the topic itself (DYNAMIC_TOPIC_CONFIG)
LOOK_EVERY_SECONDS = 0.05
TOLD = 3
"""Topics that an error names: mostly all have the same."""


class TopicError(Exception):
    """The topics are not as they must be, or Kafka can't be asked; the message says what to do."""


class BrokerAwayError(TopicError):
    """Kafka can't be reached, or does not answer."""


@dataclass(frozen=True)
class Difference:
    """One thing about a topic that is not as declared. `what`: `topic`, `partitions`, or the setting's name."""

    topic: str
    what: str
    found: str | None
    wanted: str

    def __str__(self) -> str:
        if self.what == "topic":
            return f"{self.topic}: missing ({self.wanted})"
        return f"{self.topic}: {self.what} is {self.found}, must be {self.wanted}"


@dataclass(frozen=True)
class Found:
    """A topic as the broker has it: `configs` in force, `own` those that were set on the topic itself."""

    partitions: int
    configs: dict[str, str]
    own: dict[str, str]


def wanted_partitions(topic: Topic, partitions: int) -> int:
    """How many partitions `topic` has where the deployment's topics have `partitions`."""
    return 1 if topic.single else partitions


def wanted_configs(topic: Topic) -> dict[str, str]:
    """The settings that `topic` must have on the broker."""
    return COMPACTED if topic.kept is Kept.COMPACTED else KEPT_FOR_EVER


def compare(topic: Topic, name: str, found: Found | None, partitions: int) -> list[Difference]:
    """What is not as declared of one topic; empty when all is well."""
    wanted = wanted_partitions(topic, partitions)
    if found is None:
        return [Difference(name, "topic", None, f"{wanted} partitions, {topic.kept}")]
    settings = [
        Difference(name, key, found.configs.get(key), value)
        for key, value in wanted_configs(topic).items()
        if found.configs.get(key) != value
    ]
    if found.partitions != wanted:
        settings.insert(0, Difference(name, "partitions", str(found.partitions), str(wanted)))
    return settings


async def diff_topics(
    brokers: Brokers,
    prefix: str,
    partitions: int,
    topics: Iterable[Topic] = TOPICS,
    timeout_seconds: float = 30.0,
) -> list[Difference]:
    """Compare the broker's topics with the declared ones. `prefix` is put before each name as it is.

    Raises:
        BrokerAwayError: Kafka can't be reached or does not answer in time.
    """
    async with open_admin(brokers, timeout_seconds) as admin:
        return await _differences(admin, prefix, partitions, topics)


async def apply_topics(
    brokers: Brokers,
    prefix: str,
    partitions: int,
    replication_factor: int = 1,
    timeout_seconds: float = 30.0,
) -> list[Difference]:
    """Create what is missing and set what differs. Returns what was changed; empty when all was well.

    `replication_factor` of new topics; -1 is the broker's default. The number of partitions of a topic that is
    there is never changed: `growing` does that, and more than that.

    Raises:
        TopicError: a topic has another number of partitions (nothing is changed then), the broker refuses, or it
            can't be reached in time.
    """
    async with open_admin(brokers, timeout_seconds) as admin:
        changes = await _differences(admin, prefix, partitions, TOPICS)
        if problem := repartitioning(changes, prefix, partitions):
            raise TopicError(problem)
        await _create(admin, prefix, partitions, replication_factor, changes)
        await _set(admin, prefix, changes)
        await _until_visible(admin, prefix, partitions)
        return changes


async def check_topics(
    brokers: Brokers,
    prefix: str,
    partitions: int,
    topics: Sequence[Topic] = TOPICS,
    timeout_seconds: float = 30.0,
) -> None:
    """Make sure that the topics are as declared, before a worker starts on them.

    Raises:
        TopicError: they are not; names each difference and the command that puts it right.
        BrokerAwayError: Kafka can't be reached or does not answer in time.
    """
    differences = await diff_topics(brokers, prefix, partitions, topics, timeout_seconds)
    if problem := repartitioning(differences, prefix, partitions, topics):
        raise TopicError(problem)
    if differences:
        what = "; ".join(map(str, differences))
        raise TopicError(f"topics at {brokers} are not as declared: {what}. Run `{APPLY_COMMAND}`")


def repartitioning(
    differences: Sequence[Difference], prefix: str, partitions: int, topics: Iterable[Topic] = TOPICS
) -> str | None:
    """What is wrong with the topics' numbers of partitions, and what to do; None: nothing.

    A number is not put right by the way, and which is the right one depends on all of them.
    """
    other = {difference.topic: difference for difference in differences if difference.what == "partitions"}
    if not other:
        return None
    absent = {difference.topic for difference in differences if difference.what == "topic"}
    present = {prefix + topic.name for topic in topics if not topic.single} - absent
    counts = {int(other[name].found or 0) if name in other else partitions for name in present}
    told = [str(difference) for difference in other.values()]
    more = f"; {len(told) - TOLD} more differ" if len(told) > TOLD else ""
    return f"{'; '.join(told[:TOLD])}{more}. {advice(counts, partitions)}"


@asynccontextmanager
async def open_admin(brokers: Brokers, timeout_seconds: float) -> AsyncIterator[AIOKafkaAdminClient]:
    """An admin client, for so long.

    Raises:
        BrokerAwayError: Kafka can't be reached, or what is done with it takes longer.
    """
    admin = AIOKafkaAdminClient(**brokers.client(), request_timeout_ms=max(1, int(timeout_seconds * 1000)))
    try:
        async with asyncio.timeout(timeout_seconds):
            await admin.start()
            yield admin
    except TimeoutError as error:
        raise BrokerAwayError(f"Kafka at {brokers} did not answer within {timeout_seconds:g} s") from error
    except KafkaError as error:
        why = await why_unreachable(brokers) or str(error)
        raise BrokerAwayError(f"Kafka at {brokers}: {why}") from error
    finally:
        await admin.close()


async def _differences(
    admin: AIOKafkaAdminClient, prefix: str, partitions: int, topics: Iterable[Topic]
) -> list[Difference]:
    declared = {prefix + topic.name: topic for topic in topics}
    found = await find_topics(admin, set(declared))
    return [
        difference
        for name, topic in declared.items()
        for difference in compare(topic, name, found.get(name), partitions)
    ]


async def find_topics(admin: AIOKafkaAdminClient, names: set[str]) -> dict[str, Found]:
    """Those of the named topics that are there."""
    # All topics are asked for: naming one that is missing would create it on brokers that create topics by themselves.
    described = {topic["topic"]: topic for topic in await admin.describe_topics()}
    present = sorted(names & described.keys())
    if not present:
        return {}
    configs = await _read_configs(admin, present)
    return {name: Found(len(described[name]["partitions"]), *configs[name]) for name in present}


async def _read_configs(
    admin: AIOKafkaAdminClient, names: list[str]
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Of each topic: all its settings in force, and those set on itself."""
    answers = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names])
    configs = {}
    for code, message, _type, name, entries in (resource for a in answers for resource in a.resources):
        if code:
            raise TopicError(f"settings of topic {name} can't be read: {for_code(code).__name__}: {message}")
        own = {key: value for key, value, _read_only, source, *_ in entries if source == SET_ON_TOPIC}
        configs[name] = ({entry[0]: entry[1] for entry in entries}, own)
    return configs


async def _until_visible(admin: AIOKafkaAdminClient, prefix: str, partitions: int) -> None:
    """Brokers learn from the controller what was changed: wait for it, within the caller's deadline.

    A topic that somebody else made a moment ago was none yet when it was looked for: it is put right here.

    Raises:
        TopicError: such a one has another number of partitions.
    """
    while left := await _differences(admin, prefix, partitions, TOPICS):
        if problem := repartitioning(left, prefix, partitions):
            raise TopicError(problem)
        await _set(admin, prefix, left)
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def _create(
    admin: AIOKafkaAdminClient,
    prefix: str,
    partitions: int,
    replication_factor: int,
    changes: list[Difference],
) -> None:
    missing = {change.topic for change in changes if change.what == "topic"}
    new = [
        NewTopic(
            prefix + topic.name,
            wanted_partitions(topic, partitions),
            replication_factor,
            replica_assignments={} if replication_factor == -1 else None,
            topic_configs=wanted_configs(topic),
        )
        for topic in TOPICS
        if prefix + topic.name in missing
    ]
    if new:
        _raise_errors("created", (await admin.create_topics(new)).topic_errors)


async def _set(admin: AIOKafkaAdminClient, prefix: str, changes: list[Difference]) -> None:
    # AlterConfigs replaces all of a topic's own settings: those that are not ours are handed back as they are.
    names = sorted({change.topic for change in changes if change.what != "topic"})
    if not names:
        return
    declared = {prefix + topic.name: wanted_configs(topic) for topic in TOPICS}
    configs = await _read_configs(admin, names)
    answers = await admin.alter_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name, configs[name][1] | declared[name]) for name in names]
    )
    _raise_errors("changed", ((name, code, text) for a in answers for code, text, _, name in a.resources))


def _raise_errors(done: str, errors: Iterable[tuple[Any, ...]]) -> None:
    for name, code, message in errors:
        if code and code != TopicAlreadyExistsError.errno:
            raise TopicError(f"topic {name} was not {done}: {for_code(code).__name__}: {message}")
