"""How long `odradek up` takes, with new data each time, and what the stack uses when it has nothing to do.

Started by the supervisor like any user's: from the call until all five workers are ready, Kafka included, without the
small local model. Memory is the proportional set size: a page that several processes share is counted once.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.processes import Pids, cpu_seconds, memory
from benchmarks.harness.results import Series
from benchmarks.harness.runs import play
from benchmarks.harness.stack import ScriptedModel, Shape, scripted_models, upstreams
from benchmarks.harness.workloads import BOTH
from odradek_local.settings import LocalSettings
from odradek_local.state import PartStatus, StackState
from odradek_local.supervisor import down, up

MODELS = Shape()
EVERYTHING = "everything, with the supervisor"


@dataclass(frozen=True)
class Sizes:
    """Starts; rollouts of the run after which memory is looked at again; seconds of rest before and while idling."""

    starts: int = 5
    rollouts: int = 8000
    rest_seconds: float = 5.0
    idle_seconds: float = 15.0


async def measure(bench: Bench, sizes: Sizes) -> None:
    async with scripted_models(MODELS, bench.folder) as models:
        with bench.results.series("startup", fresh_data=True) as series:
            for number in range(sizes.starts):
                settings = _settings(bench.folder / f"start-{number}", models)
                last = number == sizes.starts - 1
                async with _started(settings, series) as state:
                    if last:
                        await _idle(bench, Deployment.of(state, bench.folder), state, sizes)


@asynccontextmanager
async def _started(settings: LocalSettings, series: Series) -> AsyncIterator[StackState]:
    kafka: list[float] = []
    began = time.perf_counter()

    def follow(state: StackState) -> None:
        broker = next((part for part in state.parts if part.name == "kafka"), None)
        if broker and broker.status is PartStatus.HEALTHY and not kafka:
            kafka.append(time.perf_counter() - began)

    try:
        state = await asyncio.to_thread(up, settings, follow)
        seconds = time.perf_counter() - began
        series.add(
            {"start_seconds": round(seconds, 2), "kafka_seconds": round(kafka[0] if kafka else seconds, 2)}
        )
        say(f"up in {seconds:.2f} s")
        yield state
    finally:
        down(settings)


async def _idle(bench: Bench, deployment: Deployment, state: StackState, sizes: Sizes) -> None:
    watched = {**deployment.pids, EVERYTHING: [state.supervisor_pid]}
    with bench.results.series(
        "idle", rest_seconds=sizes.rest_seconds, idle_seconds=sizes.idle_seconds
    ) as series:
        series.add(await _use("after_start", watched, sizes, series))
        for work in BOTH:
            await play(deployment, work, sizes.rollouts // work.calls, check=False)
        series.add(await _use("after_runs", watched, sizes, series))


async def _use(moment: str, pids: Pids, sizes: Sizes, series: Series) -> dict[str, float]:
    """Memory in MB and per cent of one core of broker and workers together; the details have all, supervisor included."""
    await asyncio.sleep(sizes.rest_seconds)
    used, before = memory(pids), cpu_seconds(pids)
    await asyncio.sleep(sizes.idle_seconds)
    spent = {name: cpu - before[name] for name, cpu in cpu_seconds(pids).items()}
    series.details[moment] = {
        name: {"pss_mb": round(used[name].pss, 1), "rss_mb": round(used[name].rss, 1),
               "cpu_percent": round(100 * spent[name] / sizes.idle_seconds, 2)}
        for name in pids
    }  # fmt: skip
    parts = [name for name in pids if name != EVERYTHING]
    figures = {
        f"pss_mb_{moment}": round(sum(used[name].pss for name in parts), 1),
        f"rss_mb_{moment}": round(sum(used[name].rss for name in parts), 1),
        f"cpu_percent_{moment}": round(100 * sum(spent[name] for name in parts) / sizes.idle_seconds, 2),
    }
    say(f"{moment}: {figures}")
    return figures


def _settings(folder: Path, models: dict[str, ScriptedModel]) -> LocalSettings:
    return LocalSettings(
        data_dir=folder,
        local_model=False,
        kafka_port=0,
        valkey_port=0,
        services_port=0,
        front_port=0,
        models=upstreams(MODELS, models),
    )


MEASUREMENT = Measurement(
    "startup",
    measure,
    sizes=Sizes(),
    smoke=Sizes(starts=2, rollouts=400, rest_seconds=1.0, idle_seconds=2.0),
    limit_seconds=240,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
