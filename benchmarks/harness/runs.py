"""Playing one run, and what it took."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.log import Log, Offsets
from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.stack import model_name
from benchmarks.harness.workloads import TASKS, Workload
from odradek_schemas.events import Dataset, RunFinished, RunRequested, RunStatus
from odradek_schemas.topics import REWARDS, TRAJECTORIES

RUN_SECONDS = 240.0
IN_FLIGHT = 2000
LOOK_SECONDS = 1.0


class RunError(RuntimeError):
    """A run did not do what it should; the message says what is wrong."""


@dataclass(frozen=True)
class Played:
    """A run that is over. `cpu_ms`: milliseconds of CPU per rollout by component."""

    run_id: str
    rollouts: int
    seconds: float
    cpu_ms: dict[str, float]
    lost: int
    duplicate: int
    since: Offsets

    @property
    def figures(self) -> dict[str, float]:
        """What every run is measured by."""
        by_component = {f"cpu_ms:{name}": round(ms, 4) for name, ms in self.cpu_ms.items()}
        return {
            "rollouts_per_second": round(self.rollouts / self.seconds, 1),
            "cpu_ms_per_rollout": round(sum(self.cpu_ms.values()), 3),
            "lost": self.lost,
            "duplicate": self.duplicate,
            **by_component,
        }


async def play(
    deployment: Deployment,
    work: Workload,
    rollouts: int,
    *,
    in_flight: int = IN_FLIGHT,
    speed: str = "at_once",
    within: float = RUN_SECONDS,
    also: tuple[str, ...] = (),
    check: bool = True,
) -> Played:
    """Play one run; its length is rounded to a multiple of the tasks.

    `also`: topics that are to be read afterwards, from `since`; `check`: count what is lost and duplicate.
    Raises RunError and PartEndedError.
    """
    log = Log(deployment)
    counted = await log.ends(TRAJECTORIES.name, REWARDS.name)
    since = await log.ends(*also) if also else {}
    request = run_requested(deployment, work, rollouts, in_flight, speed)
    before, started = cpu_seconds(deployment.pids), time.perf_counter()
    await log.request(request)
    finished = await _finish(log, request.run_id, within, deployment)
    seconds, after = time.perf_counter() - started, cpu_seconds(deployment.pids)
    count = _finished(finished)
    losses = await log.losses(request.run_id, finished.planned, counted) if check else None
    return Played(
        run_id=request.run_id,
        rollouts=count,
        seconds=seconds,
        cpu_ms={name: 1000 * (after[name] - before[name]) / count for name in after},
        lost=losses.lost if losses else 0,
        duplicate=losses.duplicate if losses else 0,
        since=since,
    )


def run_requested(
    deployment: Deployment, work: Workload, rollouts: int, in_flight: int, speed: str, **wishes: Any
) -> RunRequested:
    """The request for a run of so many rollouts, with an id that no other has."""
    dataset = work.write(deployment.folder)
    run = f"{work.name.replace('_', '-')}-{time.time_ns()}"
    return RunRequested(
        id=run,
        run_id=run,
        environment=work.environment,
        model=model_name(work.script, speed),
        dataset=Dataset(uri=dataset.absolute().as_uri(), name=dataset.name),
        samples=max(1, rollouts // TASKS),
        limit=min(TASKS, rollouts),
        concurrency=in_flight,
        **wishes,
    )


async def _finish(log: Log, run_id: str, within: float, deployment: Deployment) -> RunFinished:
    """The run's end, or at once an error when a part of the stack ends first."""
    waiting = asyncio.ensure_future(log.finished(run_id, within))
    try:
        while not waiting.done():
            await asyncio.wait({waiting}, timeout=LOOK_SECONDS)
            deployment.check()
        return waiting.result()
    except TimeoutError as error:
        raise RunError(f"run {run_id} was not over within {within:.0f} s") from error
    finally:
        waiting.cancel()
        await asyncio.wait({waiting})


def _finished(event: RunFinished) -> int:
    """How many rollouts were played. Raises RunError when any was not: figures of a broken run say nothing."""
    counts = event.counts
    well = event.status is RunStatus.FINISHED and event.planned and counts.completed == event.planned
    if not well or counts.masked:
        raise RunError(
            f"run {event.run_id} is {event.status}: {counts.completed} of {event.planned} rollouts completed, "
            f"{counts.masked} masked, failures {counts.failures or event.failure}"
        )
    return counts.finished
