"""A pool grows with its load and shrinks again: `odradek autoscale` on a local stack, its curve and what was lost.

    python -m benchmarks.autoscaling

Each rollout has one tool call that takes three seconds, and an env-worker has four threads for such calls: so that the
pool is too small is a matter of waiting, not of this machine's cores. All rollouts come at once; the pool may grow to
four. Adds a line to `benchmarks/results/`, writes the tables of the pages anew and draws `docs/autoscaling.svg`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.harness.curves import Curve, draw
from benchmarks.harness.machine import ROOT
from benchmarks.harness.results import RESULTS, Results
from tests.support.stack import MISCHIEF, RunningStack, running_stack

POOL = "env-worker"
ROLLOUTS, AT_ONCE, THREADS, MOST = 240, 80, 4, 4
POLICY = {"target": 12, "min": 1, "max": MOST, "grow_seconds": 2, "shrink_seconds": 15}
RUN_SECONDS = 600.0
SHRINK_SECONDS = 180.0
STOP_SECONDS = 30.0
PICTURE = ROOT / "docs/autoscaling.svg"

Step = dict[str, Any]


def measure(results: Results) -> None:
    """Play one run with the autoscaler beside it, and keep what it saw."""
    with (
        tempfile.TemporaryDirectory(prefix="odradek-autoscaling-") as name,
        running_stack(
            Path(name), MISCHIEF | {"ODRADEK_TOOL_THREADS": str(THREADS)}, local_model=False
        ) as stack,
        results.series(
            "autoscaling", rollouts=ROLLOUTS, in_flight=AT_ONCE, threads=THREADS, **POLICY
        ) as series,
    ):
        with autoscaling(stack, Path(name) / "steps.jsonl") as steps:
            began = time.time()
            play(stack, Path(name) / "naps.jsonl")
            seconds = time.time() - began
            until_small(steps)
        command(stack, "audit")
        course = [step for step in read(steps) if step["time"] >= began and step["load"] is not None]
        series.add(figures(course, began, seconds))
        series.details["course"] = [
            [
                round(step["time"] - began, 1),
                step["load"]["load"],
                step["load"]["backlog"],
                step["load"]["members"],
            ]
            for step in course
        ]


@contextmanager
def autoscaling(stack: RunningStack, path: Path) -> Iterator[Path]:
    """The autoscaler of the one pool; `path` gets a line for each look."""
    policy = [word for name, value in POLICY.items() for word in ("--set", f"{POOL}.{name}={value}")]
    with path.open("w") as out:
        process = subprocess.Popen(
            [odradek(), "autoscale", "--json", "--every", "1", "--pool", POOL, *policy],
            env=environment(stack),
            stdout=out,
        )
        try:
            yield path
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)


def play(stack: RunningStack, rows: Path) -> None:
    call = {"name": "misbehave", "arguments": {"deed": "nap"}}
    row = {"task": {"calls": [call]}, "answer": {"expected": 0}}
    rows.write_text((json.dumps(row) + "\n") * 8)
    samples = str(ROLLOUTS // 8)
    wishes = ["--model", "planned", "--input", str(rows), "--samples", samples, "--concurrency", str(AT_ONCE)]
    command(stack, "run", "chaos", *wishes)


def until_small(steps: Path) -> None:
    """Raises TimeoutError."""
    until = time.monotonic() + SHRINK_SECONDS
    while (last := read(steps)[-1])["replicas"] != 1 or (last["load"] or {"members": 0})["members"] != 1:
        if time.monotonic() > until:
            raise TimeoutError(f"the pool did not shrink within {SHRINK_SECONDS:g} s: {last}")
        time.sleep(1)


def read(steps: Path) -> list[Step]:
    """All looks so far, with seconds since 1970 for their times."""
    lines = [json.loads(line) for line in steps.read_text().splitlines() if line.endswith("}")]
    return [line | {"time": datetime.fromisoformat(line["time"]).timestamp()} for line in lines]


def figures(course: Sequence[Step], began: float, seconds: float) -> dict[str, float]:
    """The highest load and backlog, the most workers and when they were there, and when the pool was small again."""
    members = [step["load"]["members"] for step in course]
    at_most = next(step["time"] for step in course if step["load"]["members"] == max(members))
    busy = max(step["time"] for step in course if step["load"]["members"] > 1)
    return {
        "run_seconds": round(seconds, 1),
        "most_load": max(step["load"]["load"] for step in course),
        "most_backlog": max(step["load"]["backlog"] for step in course),
        "most_workers": max(members),
        "seconds_to_most_workers": round(at_most - began, 1),
        "seconds_to_one_worker": round(busy - began, 1),
    }


def picture(series: dict[str, Any]) -> str:
    """Backlog and workers over the seconds of the latest series, each as a share of its most."""
    course, most = series["details"]["course"], series["figures"]["most_backlog"]
    most = most["median"] if isinstance(most, dict) else most
    last = int(course[-1][0]) + 1
    at = [max((look for look in course if look[0] <= second), default=course[0]) for second in range(last)]
    curves = [
        Curve(f"actions that wait (1: {most:g})", [look[2] / most for look in at]),
        Curve(f"env-workers that live (1: {MOST})", [look[3] / MOST for look in at]),
    ]
    return draw(f"{ROLLOUTS} rollouts, {AT_ONCE} at once, a slow tool", "seconds", curves)


def command(stack: RunningStack, *arguments: str) -> None:
    """Raises CalledProcessError, after its error was told."""
    subprocess.run(
        [odradek(), *arguments],
        env=environment(stack),
        check=True,
        timeout=RUN_SECONDS + STOP_SECONDS,
        stdout=subprocess.DEVNULL,
    )


def odradek() -> Path:
    return Path(sys.executable).with_name("odradek")


def environment(stack: RunningStack) -> dict[str, str]:
    return os.environ | MISCHIEF | {"ODRADEK_DATA_DIR": str(stack.settings.folder)}


def main() -> None:
    results = Results(RESULTS)
    measure(results)
    latest = results.latest["autoscaling"]
    print(f"autoscaling: {json.dumps(latest['figures'])}", file=sys.stderr)
    PICTURE.write_text(picture(latest))
    report.write()


if __name__ == "__main__":
    main()
