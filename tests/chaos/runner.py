"""Plays one scenario: starts a run, strikes, waits for the end, and says what came of it."""

import asyncio
import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence

import psutil

from odradek.audit import Verdict
from odradek_cli.auditing import audit
from odradek_cli.errors import CliError
from odradek_local.process import ProcessError
from odradek_schemas.events import RunFinished
from tests.chaos.arena import SETTLE_SECONDS, Arena, Field
from tests.chaos.results import Result
from tests.chaos.scenario import Scenario, Strike
from tests.chaos.verdict import RequestLog, judged, recovery
from tests.support.log import run_requested
from tests.support.stack import ROOT

GROWTH_MIB = 160.0
"""How much more memory a worker may hold at rest than before the run: a verifier-worker starts its pool in its first."""
GIVE_BACK_SECONDS = 15.0
"""How long it may take to give back more than that: a process in a pool ends when it is not needed any more."""


async def play(scenario: Scenario, arena: Arena, seed: int) -> Result:
    """Play `scenario`. What goes wrong, the framework's own errors included, is in the result's notes."""
    await arena.rested()
    arena.watch.forget()
    on = Field(arena, scenario, scenario.random(seed), run="")
    try:
        result = await _played(on, seed)
    except (OSError, LookupError, psutil.Error, ProcessError, CliError) as error:
        result = _result(on, seed, problems=[f"{type(error).__name__}: {error}"])
    finally:
        await arena.workers.remove_all()
    return result if scenario.ruins else result.model_copy(update=await _at_rest(on, result))


def interruptible() -> None:
    """Let this program end its stack at SIGTERM, too; and be quiet about brokers that are away on purpose."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


async def _played(on: Field, seed: int) -> Result:
    arena, scenario = on.arena, on.scenario
    await arena.workers.settled(SETTLE_SECONDS)
    await asyncio.gather(*(arena.workers.add(kind) for kind in scenario.second))
    memory, asked = arena.workers.memory_mib(), RequestLog(arena.stack.requests)
    await begun(on)
    await _strike(on, scenario.strikes)
    if scenario.ruins:
        return _result(on, seed, problems=[])
    finished = await ended(on)
    counted, repeated, problems = judged(on, finished, asked.of(on.run))
    for check in scenario.checks:
        problems += await check.problems(on)
    problems += await refuted(on)
    if grown := await _grown(on, memory):
        problems.append(f"MiB of memory not given back: {grown}")
    back = recovery(arena.watch, on.run, on.hits)
    return _result(
        on,
        seed,
        problems,
        ended=counted.ended,
        lost=counted.lost,
        duplicate=counted.duplicate,
        answered_again=repeated.answered,
        in_flight_again=repeated.in_flight,
        seconds=_rounded(back.first),
        seconds_every_partition=_rounded(back.every),
    )


async def refuted(on: Field) -> list[str]:
    """What `odradek audit` would say against the run."""
    state = on.arena.stack.state
    report = await audit(state.bootstrap, state.topic_prefix, on.run, state.blob_store)
    return [] if report.verdict is Verdict.CLEAN else [str(report)]


async def begun(on: Field) -> None:
    """Start the scenario's run."""
    load, arena = on.scenario.load, on.arena
    request = run_requested(
        load.environment,
        load.model,
        load.write(arena.folder),
        samples=load.samples,
        concurrency=load.concurrency,
        limits=load.limits,
        harness=load.harness,
    )
    on.run = request.run_id
    await arena.stack.log.start(request)


async def _grown(on: Field, before: dict[str, float]) -> dict[str, float]:
    """By how many MiB workers have grown too much, those that give it back within a while not counted."""
    end = time.monotonic() + GIVE_BACK_SECONDS
    while True:
        now = on.arena.workers.memory_mib()
        grown = {kind: mib - before[kind] for kind, mib in now.items() if mib - before[kind] > GROWTH_MIB}
        if not grown or time.monotonic() > end:
            return grown
        await asyncio.sleep(0.5)


async def _strike(on: Field, strikes: Sequence[Strike]) -> None:
    for strike in strikes:
        await strike.strike(on)


async def ended(on: Field) -> RunFinished:
    """Wait for the run's end. Raises TimeoutError."""
    watch = on.arena.watch

    def ends() -> list[RunFinished]:
        return [s.event for s in watch.of(on.run, "runs") if isinstance(s.event, RunFinished)]

    await watch.until(lambda: bool(ends()), on.scenario.deadline_seconds, f"the end of run {on.run}")
    return ends()[0]


async def _at_rest(on: Field, result: Result) -> dict[str, object]:
    """After everything: all is well again, and nobody is left behind."""
    try:
        await on.arena.workers.settled(SETTLE_SECONDS)
        problems = [f"left running: {stray}" for stray in on.arena.workers.strays()]
        problems += _said_twice(on)
    except TimeoutError as error:
        problems = [str(error)]
    return {"ok": result.ok and not problems, "notes": result.notes + problems, "load": os.getloadavg()[0]}


def _said_twice(on: Field) -> list[str]:
    ends = sum(s.type == "RunFinished" for s in on.arena.watch.of(on.run, "runs"))
    return [f"the run ended {ends} times"] if ends > 1 else []


def _result(on: Field, seed: int, problems: list[str], **found: object) -> Result:
    scenario = on.scenario
    return Result.model_validate(
        {
            "scenario": scenario.name,
            "struck": scenario.struck,
            "moment": scenario.moment,
            "fault": scenario.fault,
            "recovery": str(scenario.recovery),
            "goal_seconds": scenario.recovery.goal_seconds,
            "seed": seed,
            "ok": not problems,
            "notes": [*on.notes, *problems],
            "commit": commit(),
            "load": os.getloadavg()[0],
            **found,
        }
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def commit() -> str:
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    found = subprocess.run(git, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"
