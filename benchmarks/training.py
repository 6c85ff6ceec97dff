"""A trainer learns from Odradek's rollouts: `examples/trl/play.py` once with each trainer, its reward curve and its pace.

    python -m benchmarks.training [grpo async]

Adds a line each to `benchmarks/results/` and draws `docs/training.svg`. What is measured is a whole trainer, server and
stack on this machine; beside other work it is slower, and learns no less. TRL comes from the cache of
`make test-training`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.harness.curves import Curve, draw
from benchmarks.harness.machine import ROOT
from benchmarks.harness.results import RESULTS, Results
from tests.training.installing import install, letters, player

STEPS = 60
ENDS = 5
"""Steps at either end whose mean is told."""
SECONDS = 3600.0
TITLES = {"grpo": "GRPOTrainer", "async": "AsyncGRPOTrainer"}
PICTURE = ROOT / "docs/training.svg"


def measure(trainer: str, results: Results, steps: int, kill_at: int | None) -> None:
    """Train once, and keep the curve."""
    more = [] if kill_at is None else ["--kill-at", str(kill_at)]
    with (
        tempfile.TemporaryDirectory(prefix="odradek-training-") as name,
        results.series(f"training.{trainer}", steps=steps, rollouts=32, kill_at=kill_at) as series,
    ):
        command, env = player(Path(name), trainer, steps, more)
        subprocess.run(command, env=env, check=True, timeout=SECONDS)
        logged = whole_course(Path(name) / "trainer/steps.jsonl")
        series.add(figures(logged))
        series.details["rewards"] = [round(line["reward"], 4) for line in logged]
        series.details["clipped"] = [round(line["clip_ratio/region_mean"], 4) for line in logged]
        series.details["staleness"] = [round(staleness(line), 2) for line in logged]


def whole_course(path: Path) -> list[dict[str, Any]]:
    """What was logged of each step; of one that was trained twice, the last."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return list({line["step"]: line for line in lines}.values())


def figures(logged: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Reward at both ends, seconds in all and of the median step, and how far behind rollouts were."""
    times = [line["time"] for line in logged]
    paces = [later - sooner for sooner, later in pairwise(times)]
    return {
        "reward_at_first": round(statistics.fmean(line["reward"] for line in logged[:ENDS]), 4),
        "reward_at_last": round(statistics.fmean(line["reward"] for line in logged[-ENDS:]), 4),
        "seconds": round(times[-1] - times[0], 1),
        "seconds_per_step": round(statistics.median(paces), 3),
        "clipped": round(statistics.fmean(line["clip_ratio/region_mean"] for line in logged), 4),
        "staleness": round(statistics.fmean(map(staleness, logged)), 3),
    }


def staleness(line: dict[str, Any]) -> float:
    """How many steps older than the trained weights those were that sampled: as either trainer logs it."""
    return float(line.get("odradek/staleness_mean", line.get("sample/staleness_mean", 0.0)))


def picture(latest: dict[str, Any]) -> str:
    """The curves of the latest runs."""
    curves = [
        Curve(TITLES[trainer], latest[f"training.{trainer}"]["details"]["rewards"])
        for trainer in TITLES
        if f"training.{trainer}" in latest
    ]
    return draw("Mean reward of a step's 32 rollouts", "step", curves)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trainers", nargs="*", metavar="TRAINER", help=", ".join(TITLES))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument(
        "--kill-at", type=int, help="kill the trainer after this step, once, and start it again"
    )
    given = parser.parse_args()
    if unknown := [name for name in given.trainers if name not in TITLES]:
        parser.error(f"no trainer is called {', '.join(unknown)}; there are {', '.join(TITLES)}")
    install()
    letters()
    results = Results(RESULTS)
    for trainer in given.trainers or TITLES:
        measure(trainer, results, given.steps, given.kill_at)
        print(f"{trainer}: {json.dumps(results.latest[f'training.{trainer}']['figures'])}", file=sys.stderr)
        PICTURE.write_text(picture(results.latest))


if __name__ == "__main__":
    main()
