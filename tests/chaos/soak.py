"""Random faults for a while: `python -m tests.chaos.soak --seconds 1200 [--seed N]`.

Runs follow one another without a pause, and faults follow one another whatever the runs do. All of it is chosen by the
seed: which process, which moment, which fault, which pause. Every run must end, all its rollouts completed, and be
audited clean. Ends with status 1 at the first that is not; the logs are kept then.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import psutil

from odradek_local.process import ProcessError
from tests.chaos.arena import SETTLE_SECONDS, Arena, Field, built
from tests.chaos.runner import begun, ended, interruptible, refuted
from tests.chaos.scenario import Expected, Ground, Load, Recovery, Scenario, Strike
from tests.chaos.scenarios.processes import MOMENTS, OWN
from tests.chaos.strikes import End, Freeze, Join, Vanish, Victim
from tests.chaos.verdict import RequestLog, judged
from tests.chaos.workers import BROKER, KINDS

RUN_SECONDS = 600.0
MOST_PAUSE_SECONDS = 6.0
RESTARTS_KEPT = 2
"""Of the restarts that the supervisor grants a part, so many are left for what ends by itself."""


@dataclass(frozen=True)
class Blow:
    """One fault, after a pause."""

    words: str
    pause: float
    strike: Strike


def blows(seed: int) -> Iterator[Blow]:
    """The faults of a seed, without end. What time it is does not change them."""
    chance, seconds = Random(f"{seed}/blows"), set[str]()
    while True:
        words, strike = _blow(chance, seconds)
        yield Blow(words, round(chance.uniform(0.5, MOST_PAUSE_SECONDS), 1), strike)


def _blow(chance: Random, seconds: set[str]) -> tuple[str, Strike]:
    """`seconds` are the kinds that have a second worker now."""
    kind = chance.choice(KINDS)
    match chance.choices(("kill", "freeze", "term", "second", "both", "broker"), (9, 4, 2, 4, 2, 1))[0]:
        case "freeze":
            length, point = round(chance.uniform(1, 10), 1), chance.choice((None, *MOMENTS))
            words = f"SIGSTOP {kind} at {point or 'once'}, SIGCONT after {length} s"
            return words, Freeze(Victim(kind), length, point, after=None)
        case "term":
            return f"SIGTERM {kind}", End((Victim(kind),), fault="term", after=None)
        case "second" if kind not in seconds:
            seconds.add(kind)
            return f"a second {kind} comes", Join(kind, after=None)
        case "second":
            seconds.discard(kind)
            signal = chance.choice(("term", "kill"))
            return f"the second {kind} goes by SIG{signal.upper()}", Vanish(kind, signal)
        case "both":
            other = chance.choice([other for other in KINDS if other != kind])
            return f"SIGKILL {kind} and {other}", End((Victim(kind), Victim(other)), after=None)
        case "broker" if chance.random() < 0.5:
            return "SIGKILL the broker", End((Victim(BROKER),), after=None)
        case "broker":
            length = round(chance.uniform(2, 15), 1)
            return f"SIGSTOP the broker, SIGCONT after {length} s", Freeze(Victim(BROKER), length, after=None)
    points = [*MOMENTS, *([OWN[kind][0]] if kind in OWN else []), None]
    point = chance.choice(points)
    return f"SIGKILL {kind} at {point or 'once'}", End((Victim(kind),), point, after=None)


def loads(seed: int) -> Iterator[Load]:
    """The runs of a seed, without end."""
    chance = Random(f"{seed}/loads")
    while True:
        model = chance.choice(("tool_loop", "tool_loop", "tool_loop_patient"))
        yield Load(model=model, samples=chance.randint(10, 60), concurrency=chance.randint(8, 48))


@dataclass
class Soak:
    """One soak on one arena."""

    arena: Arena
    seed: int
    end: float
    started: float
    struck: int = 0
    runs: int = 0
    rollouts: int = 0

    async def run(self) -> list[str]:
        """Soak until the end; returns what went wrong."""
        striking = asyncio.create_task(self._strike())
        try:
            problems = await self._play(striking)
            return problems or await self._at_rest()
        finally:
            striking.cancel()
            with suppress(asyncio.CancelledError):
                await striking

    async def _strike(self) -> None:
        on = self._field(Load(), Random(f"{self.seed}/victims"))
        for blow in blows(self.seed):
            await asyncio.sleep(blow.pause)
            await self.arena.rested(RESTARTS_KEPT)
            if time.monotonic() > self.end:
                return
            self.struck += 1
            self._say(f"{blow.words}")
            try:
                await blow.strike.strike(on)
            except (OSError, ProcessError, psutil.Error) as error:  # it is just being restarted, or idle
                self._say(f"  it did not come to that: {error}")

    async def _play(self, striking: "asyncio.Task[None]") -> list[str]:
        for load in loads(self.seed):
            if striking.done():
                await striking
                return []
            problems = await self._play_one(load)
            if problems:
                return problems
        return []

    async def _play_one(self, load: Load) -> list[str]:
        on, struck = self._field(load, Random()), self.struck
        self.arena.watch.forget()
        asked = RequestLog(self.arena.stack.requests)
        await begun(on)
        try:
            finished = await ended(on)
        except TimeoutError as error:
            return [str(error)]
        faults = Expected(repeats_each=self.struck - struck + 1)
        on.scenario = replace(on.scenario, expected=faults)
        counts, repeats, problems = judged(on, finished, asked.of(on.run))
        problems += await refuted(on)
        self.runs += 1
        self.rollouts += counts.planned
        again = f"{repeats.in_flight} calls in flight made again"
        self._say(f"run {self.runs}: {counts.planned} rollouts, {again}: {'; '.join(problems) or 'clean'}")
        return problems

    async def _at_rest(self) -> list[str]:
        await self.arena.workers.remove_all()
        try:
            await self.arena.workers.settled(SETTLE_SECONDS)
        except TimeoutError as error:
            return [str(error)]
        self._say(f"memory in MiB: {self.arena.workers.memory_mib()}")
        return [f"left running: {stray}" for stray in self.arena.workers.strays()]

    def _field(self, load: Load, chance: Random) -> Field:
        scenario = Scenario(
            "soak",
            "any",
            "any",
            "any",
            (),
            load=load,
            recovery=Recovery.NONE,
            deadline_seconds=RUN_SECONDS,
        )
        return Field(self.arena, scenario, chance, run="")

    def _say(self, words: str) -> None:
        print(f"{time.monotonic() - self.started:7.1f} s  {words}", flush=True)


async def soak(seconds: float, seed: int, folder: Path) -> list[str]:
    """Soak a stack of its own in `folder`; returns what went wrong."""
    async with built(Ground(), folder) as arena:
        now = time.monotonic()
        soaking = Soak(arena, seed, end=now + seconds, started=now)
        problems = await soaking.run()
    print(f"seed {seed}: {soaking.struck} faults, {soaking.runs} runs, {soaking.rollouts} rollouts")
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--seed", type=int, help="chosen and told, if none is given")
    parser.add_argument("--keep", type=Path, help="where the data and logs go, and stay")
    given = parser.parse_args()
    interruptible()
    seed = random.randrange(10**6) if given.seed is None else given.seed
    folder = given.keep or Path(tempfile.mkdtemp(prefix="odradek-soak-"))
    print(f"seed {seed}, {given.seconds:.0f} s; data and logs: {folder}", flush=True)
    problems = asyncio.run(soak(given.seconds, seed, folder))
    if problems:
        sys.exit("\n".join(["not clean:", *problems, f"logs: {folder}/data/logs", f"repeat: --seed {seed}"]))
    if given.keep is None:
        shutil.rmtree(folder)
    print("clean")


if __name__ == "__main__":
    main()
