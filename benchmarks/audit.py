"""How fast the audit is, and how much memory it takes.

    python benchmarks/audit.py [--rollouts 3000] [--repeat 5]

Plays a healthy run in memory (the workers' own folds and rules, no Kafka), then audits its records from raw headers
and values: what `odradek audit` does, without the fetching. Prints records a second of CPU time, since other processes
share the machine, and what the audit held at most.
"""

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from odradek.audit import LogRecord, RunAudit  # noqa: E402
from tests.support.played_run import PlayedRun, play_run  # noqa: E402

PARTITIONS = 4
SAMPLES = 5
GOAL = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rollouts", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=5)
    wishes = parser.parse_args()
    run = play_run(tasks=wishes.rollouts // SAMPLES, samples=SAMPLES, partitions=PARTITIONS, turns=4)
    rates = [audit(run) for _ in range(wishes.repeat)]
    records = sum(map(len, run.partitions))
    figures = {
        "rollouts": wishes.rollouts,
        "records": records,
        "bytes_per_record": round(sum(len(raw.value) for part in run.partitions for raw in part) / records),
        "records_per_cpu_second": round(statistics.median(rates)),
        "lowest": round(min(rates)),
        "highest": round(max(rates)),
        "goal": GOAL,
        "held_kb": round(held(run) / 1000),
    }
    print(json.dumps(figures, indent=2))


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


if __name__ == "__main__":
    main()
