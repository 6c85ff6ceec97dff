"""What Kafka knows of the five kinds of worker: who is alive, what each owns, and how far each has read."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import (
    CoordinatorLoadInProgressError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    for_code,
)
from aiokafka.structs import TopicPartition

from odradek_runtime.brokers import Brokers
from odradek_runtime.names import Names
from odradek_runtime.positions import Position, parse_position
from odradek_schemas.topics import (
    AGENT,
    ENV,
    GATEWAY,
    JUDGE_RESULTS,
    MODEL_CALLS,
    MODEL_RESULTS,
    OBSERVATIONS,
    PRODUCER,
    RESCORES,
    REWARDS,
    RUN_PROGRESS,
    RUNS,
    TASKS,
    TOOL_ACTIONS,
    TRAJECTORIES,
    VERIFIER,
    Topic,
)

ASK_SECONDS = 3.0
"""Deadline of one question; a broker that is well answers in milliseconds."""

AGAIN_SECONDS = 0.2

STARTING = (
    CoordinatorLoadInProgressError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
)
"""What a broker says of its groups for a moment after it has come up."""

_T = TypeVar("_T")

INPUTS: dict[str, tuple[Topic, ...]] = {
    PRODUCER: (RUNS, RUN_PROGRESS, REWARDS),
    AGENT: (TASKS, MODEL_RESULTS, OBSERVATIONS),
    ENV: (TOOL_ACTIONS,),
    VERIFIER: (TRAJECTORIES, JUDGE_RESULTS, RESCORES),
    GATEWAY: (MODEL_CALLS,),
}
"""What each kind of worker reads and commits its position in."""

Part = tuple[str, int]
"""A topic's logical name, and a partition."""


@dataclass(frozen=True)
class Member:
    """One worker that is in its group: its client id, its host, and the partition numbers that it owns."""

    client: str
    host: str
    numbers: frozenset[int]


class Groups:
    """Asks about the consumer groups of a deployment."""

    def __init__(self, admin: AIOKafkaAdminClient, names: Names) -> None:
        self._admin = admin
        self._names = names

    async def partitions(self) -> dict[str, int]:
        """How many partitions each topic of the deployment has, by its logical name.

        Raises:
            KafkaError, TimeoutError: no answer.
        """
        described = await _patiently(self._admin.describe_topics)
        prefix = self._names.prefix
        return {
            self._names.logical(topic["topic"]): len(topic["partitions"])
            for topic in described
            if topic["topic"].startswith(prefix)
        }

    async def members(self, worker: str) -> tuple[Member, ...]:
        """The living workers of a kind; a dead one counts until its session has timed out.

        Raises:
            KafkaError, TimeoutError: no answer.
        """
        return await _patiently(lambda: self._members(self._names.group(worker)))

    async def _members(self, group: str) -> tuple[Member, ...]:
        # One group a question: aiokafka reads an answer about several wrongly.
        (answer,) = await self._admin.describe_consumer_groups([group])
        ((code, _group, _state, _type, _protocol, members, *_),) = answer.groups
        if code:
            raise for_code(code)(f"group {group}")
        return tuple(_member(*member) for member in members)

    async def positions(self, worker: str, parts: Iterable[Part]) -> dict[Part, Position]:
        """What the workers of a kind have committed; parts in which they have committed nothing are left out.

        Raises:
            KafkaError, TimeoutError: no answer, or one that leaves parts out: the coordinator is just starting.
            PositionError: a committed position is not ours.
        """
        asked = {TopicPartition(self._names.topic(topic), number): (topic, number) for topic, number in parts}
        found = await _patiently(lambda: self._commits(self._names.group(worker), list(asked)))
        return {
            asked[where]: parse_position(commit.offset, commit.metadata)
            for where, commit in found.items()
            if commit.offset >= 0
        }

    async def _commits(self, group: str, asked: list[TopicPartition]) -> dict[TopicPartition, Any]:
        found: dict[TopicPartition, Any] = await self._admin.list_consumer_group_offsets(
            group, partitions=asked
        )
        if not found.keys() >= set(asked):
            raise CoordinatorLoadInProgressError(f"group {group} has no answer yet")
        return found


@asynccontextmanager
async def open_groups(brokers: Brokers, names: Names) -> AsyncIterator[Groups]:
    """Connect to a deployment for questions about its workers.

    Raises:
        KafkaError, TimeoutError: it does not answer.
    """
    admin = AIOKafkaAdminClient(**brokers.client(), request_timeout_ms=int(1000 * ASK_SECONDS))
    try:
        async with asyncio.timeout(ASK_SECONDS):
            await admin.start()
        yield Groups(admin, names)
    finally:
        await admin.close()


async def _patiently(ask: Callable[[], Awaitable[_T]]) -> _T:
    """The answer, within ASK_SECONDS: a broker that has just come up has no coordinators yet."""
    starting: BaseException | None = None
    try:
        async with asyncio.timeout(ASK_SECONDS):
            while True:
                try:
                    return await ask()
                except STARTING as error:
                    starting = error
                await asyncio.sleep(AGAIN_SECONDS)
    except TimeoutError:
        if starting is not None:
            raise starting from None
        raise


def _member(_id: str, client: str, host: str, _metadata: bytes, assignment: bytes, *_: Any) -> Member:
    return Member(client, host.removeprefix("/"), _numbers(assignment))


def _numbers(assignment: bytes) -> frozenset[int]:
    """The partition numbers of an assignment; none while the group is being balanced."""
    if not assignment:
        return frozenset()
    topics = ConsumerProtocolMemberAssignment.decode(assignment).assignment
    return frozenset(number for _topic, numbers in topics for number in numbers)
