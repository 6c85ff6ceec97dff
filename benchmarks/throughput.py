"""How many rollouts a second, at what CPU, and what a model call costs in time.

    python benchmarks/throughput.py [--single-turn 12000] [--multi-step 4000] [--calls 400]

Everything is real and on: an embedded Kafka, the five services as processes, journal, sealed answers, metrics. The
model is a scripted server in a process of its own that answers at once (after 250 ms in the latency run, with ten
rollouts in flight). Each measurement follows a warm-up run of the same kind: a cold JVM costs several times as much.
Writes `benchmarks/results/latest.json` and prints a table.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from odradek_local.settings import LocalSettings, Upstream  # noqa: E402
from odradek_local.state import StackState  # noqa: E402
from odradek_local.supervisor import down, up  # noqa: E402
from odradek_schemas.events import (  # noqa: E402
    JournalAppended,
    ModelCallCompleted,
    ModelCallRequested,
    RewardAssigned,
    TrajectoryFinished,
)
from tests.support.log import Log, run_requested  # noqa: E402

TASKS = 400
"""Different tasks in a data set; the samples of a task share one sealed answer, as in GRPO."""
IN_FLIGHT = 2000
LATENCY_MS = 250
RUN_WITHIN_SECONDS = 240.0


@dataclass(frozen=True)
class Workload:
    """One kind of rollout: its environment and the script that plays it."""

    name: str
    environment: str
    script: str
    rows: list[dict[str, Any]]


def single_turn() -> Workload:
    """One model call: a multiple-choice question of about 400 characters."""
    options = [{letter: f"Possibility {letter} of the case"} for letter in "ABCD"]
    rows = [
        {
            "task": {
                "question": f"Question {i}. " + "Some facts that matter little. " * 12,
                "options": options,
            },
            "answer": {"expected_answer": "A"},
        }
        for i in range(TASKS)
    ]
    return Workload("single_turn", "mcqa", "instant", rows)


def multi_step() -> Workload:
    """Four model calls and three tool calls: two look-ups, one extraction, one closing message."""
    first, second = "Chilly", "Frosty"
    values = [sum(map(ord, first)), sum(map(ord, second))]
    table = f"The term 'Cold' has a synonym '{first}'.\nThe term 'Cold' has a synonym '{second}'."
    rows = [
        {
            "task": {},
            "messages": [
                {"role": "system", "content": f"Look the values up and extract them.\n{table}"},
                {"role": "user", "content": f"How cold is day {i}?"},
            ],
            "answer": {
                "expected_synonyms": [first, second],
                "expected_synonym_values": values,
                "minefield_label": "Cold",
                "minefield_label_value": 386,
            },
        }
        for i in range(TASKS)
    ]
    return Workload("multi_step", "example_multi_step", "tool_loop", rows)


class Bench:
    """A stack with two scripted models: one at once, one slow."""

    def __init__(self, state: StackState, models: dict[str, int], folder: Path) -> None:
        self.log = Log(state.bootstrap, state.topic_prefix)
        self._folder = folder
        pids = {part.name: part.pid for part in state.parts} | models
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}

    async def play(self, work: Workload, rollouts: int, in_flight: int, model: str) -> dict[str, Any]:
        """Play one run and say what it took; `detail` holds the events' counts."""
        dataset = self._folder / f"{work.name}.jsonl"
        dataset.write_text("".join(json.dumps(row) + "\n" for row in work.rows))
        samples = max(1, rollouts // TASKS)
        request = run_requested(
            work.environment,
            model,
            dataset,
            samples=samples,
            limit=min(TASKS, rollouts),
            concurrency=in_flight,
        )
        before, started = self._cpu(), time.perf_counter()
        run = await self.log.start(request)
        finished = await self.log.finished(run, RUN_WITHIN_SECONDS)
        seconds = time.perf_counter() - started
        spent = {name: cpu - before.get(name, 0.0) for name, cpu in self._cpu().items()}
        count = finished.counts.finished
        return {
            "run": run,
            "planned": finished.planned,
            "rollouts_per_second": count / seconds,
            "cpu_ms_by_process": {name: round(1000 * cpu / count, 4) for name, cpu in spent.items()},
            "mean_reward": finished.counts.mean_reward,
        }

    async def losses(self, run: str, planned: int) -> dict[str, int]:
        """Rollouts without exactly one trajectory and one reward, for a `read_committed` reader."""
        seen = await self.log.read(run, "trajectories", "rewards")
        found = [seen.count("trajectories", TrajectoryFinished), seen.count("rewards", RewardAssigned)]
        return {
            "lost": sum(planned - len(counts) for counts in found),
            "duplicate": sum(sum(counts.values()) - len(counts) for counts in found),
        }

    async def added_ms(self, run: str) -> list[float]:
        """Per model call: from the cycle that asked to the cycle that accepted, less the model's own time."""
        seen = await self.log.read(run, "model-calls", "journal")
        asked = {e.id: e.time for e in seen.events["model-calls"] if isinstance(e, ModelCallRequested)}
        entries = [e for e in seen.events["journal"] if isinstance(e, JournalAppended)]
        return [
            (entry.time - asked[entry.input.call_id]).total_seconds() * 1000 - entry.input.latency_ms
            for entry in entries
            if isinstance(entry.input, ModelCallCompleted)
        ]

    def _cpu(self) -> dict[str, float]:
        """Seconds of CPU by process, children included."""
        seconds: dict[str, float] = {}
        for name, process in self._processes.items():
            family = [process, *process.children(recursive=True)]
            seconds[name] = sum(sum(member.cpu_times()[:2]) for member in family)
        return seconds


async def measure(bench: Bench, work: Workload, warm_up: int, rollouts: int, calls: int) -> dict[str, Any]:
    """Warm up, measure the throughput, then the latency at low load."""
    say(f"{work.name}: warming up with {warm_up} rollouts")
    await bench.play(work, warm_up, IN_FLIGHT, f"{work.script}_at_once")
    say(f"{work.name}: {rollouts} rollouts, {IN_FLIGHT} in flight")
    fast = await bench.play(work, rollouts, IN_FLIGHT, f"{work.script}_at_once")
    losses = await bench.losses(fast["run"], fast["planned"])
    per_rollout = 1 if work.name == "single_turn" else 4
    say(f"{work.name}: {calls} calls of a model that takes {LATENCY_MS} ms, 10 in flight")
    slow = await bench.play(work, max(1, calls // per_rollout), 10, f"{work.script}_slow")
    added = sorted(await bench.added_ms(slow["run"]))
    return {
        "rollouts_per_second": round(fast["rollouts_per_second"], 1),
        "cpu_ms_per_rollout": round(sum(fast["cpu_ms_by_process"].values()), 3),
        "cpu_ms_by_process": fast["cpu_ms_by_process"],
        "added_ms_p50": round(statistics.median(added), 2),
        "added_ms_p99": round(added[int(0.99 * (len(added) - 1))], 2),
        "rollouts": fast["planned"],
        "mean_reward": fast["mean_reward"],
        **losses,
    }


@contextmanager
def scripted_model(folder: Path, name: str, latency_ms: int) -> Iterator[tuple[str, int]]:
    """A scripted model server; yields its base URL and process id."""
    port_file = folder / f"{name}.port"
    command = [sys.executable, str(ROOT / "tests/support/scripted_model.py"), "--port", "0"]
    process = subprocess.Popen([*command, "--port-file", str(port_file), "--latency-ms", str(latency_ms)])
    try:
        until = time.monotonic() + 30
        while not (port_file.exists() and port_file.read_text().strip()):
            if time.monotonic() > until:
                raise TimeoutError("the scripted model did not start within 30 s")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port_file.read_text().strip()}/v1", process.pid
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def running(folder: Path) -> Iterator[Bench]:
    """The stack under measurement, in a data directory of its own."""
    with (
        scripted_model(folder, "at-once", 0) as (fast, pid),
        scripted_model(folder, "slow", LATENCY_MS) as (slow, _),
    ):
        scripts = ("instant", "tool_loop")
        models = {f"{script}_at_once": Upstream(base_url=fast, model=script) for script in scripts}
        models |= {f"{script}_slow": Upstream(base_url=slow, model=script) for script in scripts}
        settings = LocalSettings(
            data_dir=folder / "data",
            local_model=False,
            kafka_port=0,
            services_port=0,
            models=models,
        )
        try:
            yield Bench(up(settings), {"model": pid}, folder)
        finally:
            down(settings)


def calibration_ms() -> float:
    """Wall time of a fixed piece of Python on one core: how fast this machine is, and how busy others keep it."""
    times = []
    for _ in range(5):
        started, total = time.perf_counter(), 0
        for i in range(2_000_000):
            total += i * i % 7
        times.append(time.perf_counter() - started)
    return round(1000 * statistics.median(times), 1)


def machine() -> str:
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"
    )


def commit() -> str:
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(git, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(results: dict[str, Any]) -> str:
    """The results as a Markdown table."""
    kinds = ("single_turn", "multi_step")
    rows = ("rollouts_per_second", "cpu_ms_per_rollout", "added_ms_p50", "added_ms_p99", "lost", "duplicate")
    lines = ["| | single turn | 4 model and 3 tool calls |", "|---|---|---|"]
    lines += [f"| {row} | " + " | ".join(str(results[kind][row]) for kind in kinds) + " |" for row in rows]
    names = sorted({name for kind in kinds for name in results[kind]["cpu_ms_by_process"]})
    lines += [
        f"| CPU ms: {name} | "
        + " | ".join(str(results[kind]["cpu_ms_by_process"].get(name, "")) for kind in kinds)
        + " |"
        for name in names
    ]
    lines.append(
        f"\n{results['machine']}; calibration {results['calibration_ms']} ms; commit {results['commit']}"
    )
    return "\n".join(lines)


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as folder, running(Path(folder)) as bench:
        return {
            "single_turn": await measure(
                bench, single_turn(), arguments.warm_up, arguments.single_turn, arguments.calls
            ),
            "multi_step": await measure(
                bench, multi_step(), arguments.multi_step, arguments.multi_step, arguments.calls
            ),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--warm-up", type=int, default=12000, help="rollouts with one call before any is measured"
    )
    parser.add_argument("--single-turn", type=int, default=12000, help="rollouts with one model call")
    parser.add_argument(
        "--multi-step", type=int, default=4000, help="rollouts with four model and three tool calls"
    )
    parser.add_argument("--calls", type=int, default=400, help="model calls of the latency run")
    parser.add_argument("--output", type=Path, default=ROOT / "benchmarks/results/latest.json")
    arguments = parser.parse_args()
    calibration = calibration_ms()
    results = asyncio.run(run(arguments)) | {"calibration_ms": calibration}
    known = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    known |= results | {"commit": commit(), "machine": machine()}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(known, indent=2) + "\n")
    print(table(known))


if __name__ == "__main__":
    main()
