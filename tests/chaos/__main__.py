"""Play the whole matrix, or some of it: `python -m tests.chaos [--only PATTERN...] [--seed N]`.

Writes `tests/chaos/results.jsonl` and the table of `docs/reliability.md`. Ends with status 1 when a scenario did not
end as it must; the logs of its stack are kept then.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path

from tests.chaos import matrix, results
from tests.chaos.arena import built
from tests.chaos.disks import can_mount
from tests.chaos.results import Result
from tests.chaos.runner import interruptible, play
from tests.chaos.scenario import Ground, Scenario

Tell = Callable[[Result, float], None]


async def play_all(
    scenarios: list[Scenario], seed: int, folder: Path, keep: bool, tell: Tell
) -> list[Result]:
    """Play them and tell each result, with the seconds it took; those with equal grounds on one stack; a stack that a scenario has ruined is replaced."""
    played: list[Result] = []
    for ground, group in groupby(sorted(scenarios, key=lambda s: s.ground.name), key=lambda s: s.ground):
        left = list(group)
        while left:
            played += await _play_on(ground, left, seed, folder / f"{ground.name}-{len(played)}", keep, tell)
    return played


async def _play_on(
    ground: Ground, left: list[Scenario], seed: int, folder: Path, keep: bool, tell: Tell
) -> list[Result]:
    """Play from the front of `left`, taking what is done, until one goes wrong or none is left."""
    played: list[Result] = []
    async with built(ground, folder) as arena:
        while left:
            started = time.monotonic()
            result = await play(left.pop(0), arena, seed)
            tell(result, time.monotonic() - started)
            played.append(result)
            if not result.ok:
                break
    if all(result.ok for result in played) and not keep:
        shutil.rmtree(folder)
    else:
        print(f"    logs: {folder}", flush=True)
    return played


def say(result: Result, seconds: float) -> None:
    """One line for a person."""
    back = "" if result.seconds is None else f"progress after {result.seconds} s, "
    mark = "ok  " if result.ok else "FAIL"
    again = f"{result.in_flight_again} in flight made again"
    notes = f": {'; '.join(result.notes)}" if result.notes else ""
    print(f"{mark} {result.scenario}: {back}{again} ({seconds:.0f} s){notes}", flush=True)


def _possible(scenario: Scenario) -> bool:
    possible = not scenario.ground.disks or can_mount()
    if not possible:
        print(f"skip {scenario.name}: a small disk can be mounted by root alone", flush=True)
    return possible


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=["*"],
        help="scenarios whose names fit one of these, such as 'agent-worker/*'",
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses the moments within their bounds")
    parser.add_argument(
        "--keep", type=Path, help="keep all logs, in this folder; else those of failures, in a temporary one"
    )
    parser.add_argument(
        "--dry", action="store_true", help="leave the committed results and the document alone"
    )
    given = parser.parse_args()
    interruptible()
    scenarios = [s for s in matrix.SCENARIOS if any(fnmatch(s.name, o) for o in given.only) and _possible(s)]
    folder = given.keep or Path(tempfile.mkdtemp(prefix="odradek-chaos-"))

    def tell(result: Result, seconds: float) -> None:
        say(result, seconds)
        if not given.dry:
            results.write([result], [scenario.name for scenario in matrix.SCENARIOS])
            matrix.write()

    played = asyncio.run(play_all(scenarios, given.seed, folder, given.keep is not None, tell))
    failed = [result.scenario for result in played if not result.ok]
    print(f"{len(played) - len(failed)} of {len(played)} scenarios ended as they must (seed {given.seed})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
