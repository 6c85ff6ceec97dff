"""Answers that are in the log already: what another process gave, or this one before it died.

A client that comes back to a process that does not know its call may have been answered by another, so the log is asked:
the partition is read from when the token was made. That is seldom, and costs no one else anything.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from odradek_model_gateway.front.refusals import NOT_LOGGED, Refusal
from odradek_runtime.access import Access
from odradek_runtime.brokers import Brokers
from odradek_runtime.errors import CommitFailedError
from odradek_runtime.intake import Intake
from odradek_runtime.log_reader import log_bounds, offsets_since, read_log
from odradek_runtime.names import Names
from odradek_schemas.codec import RecordError
from odradek_schemas.events import ModelCallCompleted
from odradek_schemas.topics import MODEL_RESULTS

CLOCKS = timedelta(minutes=1)
"""By how much the clocks of whoever made the token and of the brokers may differ."""
LOOK_SECONDS = 10.0
"""Deadline of looking into the log; a client that has to wait longer may come again."""


class EarlierAnswers:
    """Looks for the answers of an attempt."""

    def __init__(self, brokers: Brokers, names: Names, intake: Intake) -> None:
        self._brokers = brokers
        self._topic = names.topic(MODEL_RESULTS.name)
        self._intake = intake

    async def find(self, access: Access, mark: str | None, digest: str) -> ModelCallCompleted | None:
        """The last answer to the call with this idempotency key; without one, to the same body.

        Raises:
            Refusal: the log can't be read: whether the call was answered is not known, so it is not made.
        """
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._find(access, mark, digest)
        except (KafkaError, CommitFailedError, TimeoutError) as error:
            told = f"whether this call was answered before can't be told now ({error!r}): ask again"
            raise Refusal(NOT_LOGGED, told) from error

    async def _find(self, access: Access, mark: str | None, digest: str) -> ModelCallCompleted | None:
        found = None
        async for event in self._answers(access):
            asked = event.asked
            if asked is not None and (asked.mark == mark if mark is not None else asked.digest == digest):
                found = event
        return found

    async def _answers(self, access: Access) -> AsyncIterator[ModelCallCompleted]:
        partition = TopicPartition(self._topic, access.partition)
        since = access.issued - CLOCKS
        start = (await offsets_since(self._brokers, [partition], since))[partition]
        _first, end = (await log_bounds(self._brokers, [partition]))[partition]
        async for records in read_log(self._brokers, partition, start, end):
            for raw in records:
                record, error = self._intake.open(MODEL_RESULTS.name, raw)
                envelope = record.envelope
                if error is not None or envelope.type != "ModelCallCompleted":
                    continue
                if envelope.rollout_id != access.rollout_id:
                    continue
                try:
                    event = await self._intake.read(record)
                except RecordError:
                    continue  # whoever waits for it writes the dead letter
                if isinstance(event, ModelCallCompleted) and event.call_id.startswith(
                    f"{access.program_id}/"
                ):
                    yield event
