"""What a measurement is, and the frame in which measurements run: quiet, bounded in time, nothing left running."""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.harness import machine
from benchmarks.harness.results import RESULTS, Results
from benchmarks.harness.stack import RunningStack, Shape, running

SMOKE_PATIENCE = 4
"""A smoke run may be on a machine that is busy with other things."""

_started = time.monotonic()


@dataclass
class Bench:
    """What a measurement is given: a folder of its own, where its results go, and the stack that it asked for."""

    folder: Path
    results: Results
    warm: set[str]
    running: RunningStack | None = None

    @property
    def stack(self) -> RunningStack:
        assert self.running is not None, "this measurement asked for no stack"
        return self.running


@dataclass(frozen=True)
class Measurement:
    """`measure(bench, sizes)` takes its `sizes`, or the `smoke` ones, which only prove that it works.

    `shape`: the stack that it runs on, shared with the measurements before and after it that want the same; None:
    it starts what it needs.
    """

    name: str
    measure: Callable[[Bench, Any], Awaitable[None]]
    sizes: Any
    smoke: Any
    limit_seconds: float
    shape: Shape | None = None


@dataclass(frozen=True)
class Options:
    """How to measure. `results` None: print only."""

    smoke: bool
    force: bool
    results: Path | None
    within_seconds: float


def say(text: str) -> None:
    """A line of progress, with the seconds since the start."""
    print(f"[{time.monotonic() - _started:5.0f} s] {text}", file=sys.stderr, flush=True)


def options_from(given: argparse.Namespace) -> Options:
    """From the command line. The figures of smoke and forced runs are not kept, unless a folder is named for them."""
    kept = None if given.smoke or given.force else RESULTS
    return Options(given.smoke, given.force, given.results or kept, given.minutes * 60)


def add_options(parser: argparse.ArgumentParser, minutes: float) -> None:
    """The options that every measurement has."""
    parser.add_argument(
        "--smoke", action="store_true", help="tiny sizes: does it work? The figures say nothing"
    )
    parser.add_argument(
        "--force", action="store_true", help="measure although other stacks run on this machine"
    )
    parser.add_argument(
        "--results", type=Path, help="where results go (default benchmarks/results; smoke: nowhere)"
    )
    parser.add_argument(
        "--minutes", type=float, default=minutes, help=f"stop after so many (default {minutes:g})"
    )


def perform(measurements: Sequence[Measurement], options: Options) -> tuple[Results, list[str]]:
    """Run measurements one after another; returns the results and what went wrong.

    Raises:
        NotQuietError: another stack runs on this machine.
        KeyboardInterrupt: after everything that was started has ended.
    """
    if not options.force:
        machine.check_quiet()
    machine.allow_open_files()
    if machine.load_per_core() > machine.BUSY:
        say(
            f"WARNING: the machine is busy (load {machine.load_per_core()} per core): figures will be too low"
        )
    results = Results(options.results)
    return results, asyncio.run(_perform(measurements, options, results))


async def _perform(measurements: Sequence[Measurement], options: Options, results: Results) -> list[str]:
    """SIGTERM ends it like Ctrl-C: in order."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    until = time.monotonic() + options.within_seconds
    problems: list[str] = []
    for shape, group in groupby(measurements, key=lambda measurement: measurement.shape):
        chosen = list(group)
        try:
            await _on_one_stack(shape, chosen, options, results, until, problems)
        except Exception as error:  # noqa: BLE001 - one stack that fails must not cost the figures of the others
            names = " and ".join(measurement.name for measurement in chosen)
            problems.append(_problem(names, error, "the stack did not start or stop in time"))
    return problems


async def _on_one_stack(
    shape: Shape | None,
    measurements: Sequence[Measurement],
    options: Options,
    results: Results,
    until: float,
    problems: list[str],
) -> None:
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as name:
        bench = Bench(Path(name), results, set())
        if shape is None:
            await _each(bench, measurements, options, until, problems)
            return
        say(f"starting a stack with {shape.partitions} partitions")
        async with running(shape, bench.folder) as bench.running:
            await _each(bench, measurements, options, until, problems)
            say("stopping the stack")


async def _each(
    bench: Bench, measurements: Sequence[Measurement], options: Options, until: float, problems: list[str]
) -> None:
    for measurement in measurements:
        limit = measurement.limit_seconds * (SMOKE_PATIENCE if options.smoke else 1)
        left = min(limit, until - time.monotonic())
        say(f"{measurement.name} (at most {left:.0f} s)")
        try:
            async with asyncio.timeout(left):
                await measurement.measure(bench, measurement.smoke if options.smoke else measurement.sizes)
        except TimeoutError as error:
            problems.append(
                _problem(measurement.name, error, f"not done in time ({max(0.0, left):.0f} s for all)")
            )
        except Exception as error:  # noqa: BLE001 - one that fails must not cost the figures of the others
            problems.append(_problem(measurement.name, error))


def _problem(name: str, error: Exception, reason: str = "") -> str:
    text = f"{name}: {type(error).__name__}: {str(error) or reason}"
    say(f"FAILED {text}")
    return text


def alone(measurement: Measurement) -> None:
    """The main program of a module with one measurement."""
    from benchmarks.__main__ import conclude  # here: it imports all measurements

    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{measurement.name}", description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add_options(parser, minutes=60.0)
    conclude([measurement], options_from(parser.parse_args()))
