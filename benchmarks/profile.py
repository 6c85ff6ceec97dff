"""Where the CPU of a rollout goes, by component and by cause: microseconds per rollout.

Each worker is sampled from outside by py-spy while a run plays; the share of samples with a cause is that share of the
worker's CPU, as the kernel counted it in the same run. The broker's CPU is divided by what its threads are for. The
sampling slows the run down, which is why its rate is no result.
"""

import asyncio
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.causes import broker_cause, by_cause, by_function, read_raw, shares
from benchmarks.harness.deployment import Deployment
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.processes import family, threads_cpu
from benchmarks.harness.runs import IN_FLIGHT, play
from benchmarks.harness.workloads import BOTH, Workload
from benchmarks.throughput import STANDARD, warm_up

SAMPLES_PER_SECOND = 100
AFTER_SECONDS = 1.0
"""When the sampling begins: the data set is being read until then."""
WRITE_SECONDS = 30.0
FUNCTIONS = 25


@dataclass(frozen=True)
class Sizes:
    """Rollouts of one run by workload, and of the warm-up."""

    single_turn: int = 16000
    multi_step: int = 5000
    warm_up: int = 12000

    def of(self, work: Workload) -> int:
        return int(getattr(self, work.name))


@dataclass
class Profile:
    """Samples by component and cause, and by component and function; the broker's seconds of CPU by cause."""

    causes: dict[str, Counter[str]] = field(default_factory=dict)
    functions: dict[str, Counter[str]] = field(default_factory=dict)
    broker: dict[str, float] = field(default_factory=dict)


async def measure(bench: Bench, sizes: Sizes) -> None:
    deployment = bench.stack.deployment
    for work in BOTH:
        await warm_up(bench, work, sizes.warm_up // work.calls)
        rollouts = sizes.of(work)
        say(f"{work.name}: sampling while {rollouts} rollouts are played")
        settings = {"rollouts": rollouts, "in_flight": IN_FLIGHT, "samples_per_second": SAMPLES_PER_SECOND}
        with bench.results.series(f"profile.{work.name}", **settings) as series:
            profile = Profile()
            async with _sampling(deployment, bench.folder, profile):
                played = await play(deployment, work, rollouts, check=False)
            series.add(_budget(played.cpu_ms, profile))
            series.details["samples"] = {name: of.total() for name, of in profile.causes.items()}
            series.details["functions"] = {
                name: {function: round(share, 4) for function, share in _largest(of)}
                for name, of in profile.functions.items()
            }


def _largest(functions: Counter[str]) -> list[tuple[str, float]]:
    return [(name, count / functions.total()) for name, count in functions.most_common(FUNCTIONS)]


def _budget(cpu_ms: dict[str, float], profile: Profile) -> dict[str, float]:
    """`us:component:cause` -> microseconds of CPU per rollout. What was not sampled stays in one piece."""
    budget = {}
    for component, ms in cpu_ms.items():
        counts = profile.broker if component == "kafka" else profile.causes.get(component, {})
        for cause, share in (shares(counts) or {component: 1.0}).items():
            budget[f"us:{component}:{cause}"] = round(1000 * ms * share, 1)
    return budget


@asynccontextmanager
async def _sampling(deployment: Deployment, folder: Path, profile: Profile) -> AsyncIterator[None]:
    """Sample all workers from a moment after the start until the body has ended."""
    (broker,) = deployment.pids["kafka"]
    before = threads_cpu(broker)
    spies = asyncio.create_task(_spies(deployment, folder))
    try:
        yield
    finally:
        for component, output, spy in await spies:
            await _collect(component, output, spy, profile)
    for thread, seconds in threads_cpu(broker).items():
        cause = broker_cause(thread)
        profile.broker[cause] = profile.broker.get(cause, 0.0) + seconds - before.get(thread, 0.0)


Spy = tuple[str, Path, asyncio.subprocess.Process]


async def _spies(deployment: Deployment, folder: Path) -> list[Spy]:
    await asyncio.sleep(AFTER_SECONDS)
    return [
        (component, output, await _spy(member.pid, output))
        for component in deployment.ports
        for pid in deployment.pids[component]
        for member in family(pid)
        for output in [folder / f"{component}-{member.pid}.raw"]
    ]


async def _spy(pid: int, output: Path) -> asyncio.subprocess.Process:
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or "py-spy"
    options = [
        "--format",
        "raw",
        "--output",
        str(output),
        "--rate",
        str(SAMPLES_PER_SECOND),
        "--pid",
        str(pid),
    ]
    quiet = asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        program, "record", *options, stdin=quiet, stdout=quiet, stderr=asyncio.subprocess.PIPE
    )


async def _collect(component: str, output: Path, spy: asyncio.subprocess.Process, profile: Profile) -> None:
    """End a spy and take in what it has seen. A process that had ended is not missed; a spy that may not look is."""
    if spy.returncode is None:
        spy.send_signal(signal.SIGINT)
    try:
        async with asyncio.timeout(WRITE_SECONDS):
            _, errors = await spy.communicate()
    except TimeoutError:
        spy.kill()
        raise
    stacks = _stacks(component, output, errors.decode())
    profile.causes.setdefault(component, Counter()).update(by_cause(stacks))
    profile.functions.setdefault(component, Counter()).update(by_function(stacks))


def _stacks(component: str, output: Path, errors: str) -> list[tuple[list[str], int]]:
    if not output.exists():
        raise RuntimeError(f"py-spy could not sample the {component}: {errors.strip()[-400:]}")
    return read_raw(output.read_text().splitlines())


MEASUREMENT = Measurement(
    "profile",
    measure,
    sizes=Sizes(),
    smoke=Sizes(single_turn=2000, multi_step=800, warm_up=800),
    limit_seconds=150,
    shape=STANDARD,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
