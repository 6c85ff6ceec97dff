"""How fast the audit is, and how much memory it takes.

Plays a healthy run in memory (the workers' own folds and rules, no Kafka), then audits its records from raw headers
and values: what `odradek audit` does, without the fetching. Records a second are of its CPU time, since other
processes share the machine.
"""

import asyncio
import time
import tracemalloc
from dataclasses import dataclass

from benchmarks.harness.measurement import Bench, Measurement, alone, say
from odradek.audit import LogRecord, RunAudit
from tests.support.played_run import PlayedRun, play_run

PARTITIONS = 4
SAMPLES = 5


@dataclass(frozen=True)
class Sizes:
    """Rollouts of the run, and repeats."""

    rollouts: int = 3000
    repeats: int = 5


async def measure(bench: Bench, sizes: Sizes) -> None:
    tasks = sizes.rollouts // SAMPLES
    # In a thread: it runs an event loop of its own.
    run = await asyncio.to_thread(play_run, tasks=tasks, samples=SAMPLES, partitions=PARTITIONS, turns=4)
    sizes_of_records = [len(raw.value) for partition in run.partitions for raw in partition]
    with bench.results.series("audit", rollouts=sizes.rollouts, records=len(sizes_of_records)) as series:
        for _ in range(sizes.repeats):
            series.add({"records_per_second": round(audit(run), 1)})
        series.details["bytes_per_record"] = round(sum(sizes_of_records) / len(sizes_of_records))
        series.details["held_kb"] = round(held(run) / 1000)
        say(f"{series.summary()['records_per_second']['median']:.0f} records/s of CPU, {series.details}")


def audit(run: PlayedRun) -> float:
    """Audit the run once; records a second."""
    began = time.process_time()
    audit = RunAudit(run.requested, [(run.finished_at, run.finished)])
    for partition in run.partitions:
        for raw in partition:
            audit.take(LogRecord.of(raw.place, dict(raw.headers), raw.value))
        audit.end_partition()
    report = audit.report()
    assert report.verdict == "clean", str(report)
    return report.records / (time.process_time() - began)


def held(run: PlayedRun) -> int:
    """The most bytes that the audit held at a time."""
    tracemalloc.start()
    audit(run)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


MEASUREMENT = Measurement(
    "audit",
    measure,
    sizes=Sizes(),
    smoke=Sizes(rollouts=200, repeats=2),
    limit_seconds=120,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
