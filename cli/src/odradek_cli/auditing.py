"""Auditing runs of a deployment: their records, as a `read_committed` reader sees them, fed to the audit's fold."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from odradek.audit import AuditReport, LogRecord, Place, RunAudit
from odradek_cli.deployment import Deployment
from odradek_cli.errors import CliError, Exit
from odradek_cli.kafka import Found, Log, open_log
from odradek_runtime.brokers import Brokers
from odradek_runtime.records import RawRecord
from odradek_schemas.codec import RecordError, read_envelope
from odradek_schemas.events import RecordCoordinates, RunFinished, RunImported, RunRequested
from odradek_schemas.topics import (
    DEAD_LETTERS,
    JOURNAL,
    MODEL_CALLS,
    MODEL_RESULTS,
    OBSERVATIONS,
    REWARDS,
    RUNS,
    TASKS,
    TOOL_ACTIONS,
    TRAJECTORIES,
    Topic,
)

TOPICS = (
    REWARDS,
    TRAJECTORIES,
    JOURNAL,
    OBSERVATIONS,
    MODEL_RESULTS,
    TOOL_ACTIONS,
    MODEL_CALLS,
    TASKS,
    DEAD_LETTERS,
)
"""All that tells of a run's rollouts. Rewards first: their causes are then sure to be in what is read of the others."""
AUDIT_SECONDS = 3600.0
"""How long an audit may take, unless you say otherwise."""


async def audit(
    bootstrap: str, prefix: str, run_id: str, blob_store: str, within: float = AUDIT_SECONDS
) -> AuditReport:
    """Audit one run up to the log's present end. `blob_store` is the URI of the deployment's.

    Raises:
        CliError: there is no such run, Kafka does not answer, or it took longer than `within` seconds.
    """
    (report,) = await audit_runs(Deployment(Brokers(bootstrap), prefix, 0, blob_store), [run_id], within)
    return report


async def audit_runs(
    deployment: Deployment, run_ids: Sequence[str] | None, within: float = AUDIT_SECONDS
) -> list[AuditReport]:
    """Audit several runs in one pass over the log; None: all that there are.

    Raises:
        CliError: as `audit`.
    """
    try:
        async with asyncio.timeout(within), open_log(deployment) as log:
            return await audit_log(log, run_ids)
    except TimeoutError as error:
        what = f"auditing took longer than {within:g} s"
        raise CliError(what, Exit.NO_STACK, "raise --timeout") from error


async def audit_log(log: Log, run_ids: Sequence[str] | None) -> list[AuditReport]:
    """The same for an open deployment, without a deadline.

    Raises:
        CliError: one of the runs is not there.
    """
    began = time.perf_counter()
    found = await log.scan(RUNS)
    shortened = await log.shortened([topic for topic in TOPICS if topic.purged])
    audits = _audits(found, run_ids, shortened)
    since = min((f.event.time for f in found if f.event.run_id in audits), default=None)
    for partition in range(log.partitions):
        await _take_partition(log, audits, partition, since)
        for one in audits.values():
            one.end_partition()
    seconds = time.perf_counter() - began
    return [one.report(seconds) for one in audits.values()]


def _audits(
    found: Iterable[Found], run_ids: Sequence[str] | None, shortened: Mapping[Topic, datetime | None]
) -> dict[str, RunAudit]:
    """An audit for each run. Its records may be among the deleted where nothing older than the run is left."""
    requested: dict[str, RunRequested | RunImported] = {}
    finished: dict[str, list[tuple[Place, RunFinished]]] = {}
    for one in found:
        if isinstance(one.event, RunRequested | RunImported):
            requested.setdefault(one.event.run_id, one.event)
        elif isinstance(one.event, RunFinished):
            place = Place(RUNS.name, one.place.partition, one.place.offset)
            finished.setdefault(one.event.run_id, []).append((place, one.event))
    audits = {}
    for run_id in requested if run_ids is None else run_ids:
        if run_id not in requested:
            raise CliError(f"no run {run_id!r} here", Exit.INVALID_INPUT, "`odradek runs` lists them")
        asked = requested[run_id].time
        purged = [topic.name for topic, oldest in shortened.items() if oldest is None or oldest > asked]
        audits[run_id] = RunAudit(requested[run_id], finished.get(run_id, ()), purged)
    return audits


async def _take_partition(
    log: Log, audits: dict[str, RunAudit], partition: int, since: datetime | None
) -> None:
    by_run = {run_id.encode(): one for run_id, one in audits.items()}
    async for records in log.merged(TOPICS, partition, since):
        for topic, raw in records:
            headers = dict(raw.headers)
            one = by_run.get(headers.get("ce_runid", b""))
            if one is not None:
                one.take(await _opened(log, topic, raw, headers))


async def _opened(log: Log, topic: Topic, raw: RawRecord, headers: dict[str, bytes]) -> LogRecord:
    value, problem = raw.value or b"", None
    if "ce_dataref" in headers:
        where = RecordCoordinates(topic=topic.name, partition=raw.partition, offset=raw.offset)
        try:
            value = await log.value(read_envelope(raw.headers, where), value, where)
        except RecordError as error:
            problem = error.reason
    return LogRecord.of(Place(topic.name, raw.partition, raw.offset), headers, value, problem)
