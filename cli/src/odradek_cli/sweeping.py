"""Deleting old blobs: whole days of a retention class, but none that a record in the log may still refer to."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from odradek_cli.deployment import Deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import open_log
from odradek_runtime.blobs import Deleted, open_blob_store
from odradek_schemas.topics import TOPICS

MIDNIGHT = timedelta(days=1)
"""A value may be stored before midnight, and its record written after it."""


@dataclass(frozen=True)
class SweptDay:
    """A day whose blobs were deleted, or would be."""

    retention: str
    day: str
    deleted: Deleted


@dataclass(frozen=True)
class Sweep:
    """`needed`: the oldest day that records may still refer to, where it kept blobs that are old enough."""

    days: list[SweptDay]
    needed: date | None


async def sweep(
    deployment: Deployment, retention: str, older_than_days: int, dry_run: bool, within: float
) -> Sweep:
    """Delete what is older than so many days.

    Raises:
        CliError: Kafka or the store does not answer in time; what was deleted until then is.
        StoreUnavailable: the store can't be asked, or refuses.
    """
    try:
        async with asyncio.timeout(within):
            store = open_blob_store(deployment.blob_store)
            days = await store.days(retention)
            bound = datetime.now(UTC).date() - timedelta(days=older_than_days)
            needed = await _needed(deployment) if retention == "days" and days else None
            chosen = before(days, bound if needed is None else min(bound, needed))
            swept = [
                SweptDay(retention, day, await store.delete_day(retention, day, dry_run)) for day in chosen
            ]
            spared = len(chosen) < len(before(days, bound))
            return Sweep(swept, needed if spared else None)
    except TimeoutError as error:
        raise CliError(
            f"deleting took longer than {within:g} s",
            Exit.NO_STACK,
            "go on with the same command, or raise --timeout",
        ) from error


def before(days: Iterable[str], bound: date) -> list[str]:
    """The days before `bound`."""
    return [day for day in days if date.fromisoformat(day) < bound]


async def _needed(deployment: Deployment) -> date | None:
    """The oldest day whose blobs of class `days` a record in the log may refer to."""
    async with open_log(deployment) as log:
        oldest = await log.oldest([topic for topic in TOPICS if topic.retention == "days"])
    return None if oldest is None else (oldest - MIDNIGHT).date()
