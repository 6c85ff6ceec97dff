"""What we add to a model call: ten rollouts in flight, and a model that takes 250 ms.

*Added* is the time from the agent-worker's cycle that asked to its cycle that accepted the answer, less the time for
which the gateway waited for the model.
"""

import statistics
from dataclasses import dataclass

from benchmarks.harness.log import Log
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import Played, play
from benchmarks.harness.workloads import BOTH, Workload
from benchmarks.throughput import STANDARD, warm_up
from odradek_schemas.events import JournalAppended, ModelCallCompleted, ModelCallRequested
from odradek_schemas.topics import JOURNAL, MODEL_CALLS


@dataclass(frozen=True)
class Sizes:
    """Model calls of one run, and repeats."""

    calls: int = 400
    warm_up: int = 12000
    repeats: int = 5
    in_flight: int = 10


async def measure(bench: Bench, sizes: Sizes) -> None:
    for work in BOTH:
        await warm_up(bench, work, sizes.warm_up // work.calls)
        rollouts = max(1, sizes.calls // work.calls)
        everything: list[float] = []
        with bench.results.series(
            f"latency.{work.name}", calls=sizes.calls, in_flight=sizes.in_flight, model_ms=250
        ) as series:
            for repeat in range(sizes.repeats):
                added = await _added(bench, work, rollouts, sizes.in_flight)
                everything += added
                figures = {"added_ms_p50": quantile(added, 0.5), "added_ms_p99": quantile(added, 0.99)}
                series.add(figures)
                say(f"{work.name} {repeat + 1}/{sizes.repeats}: {figures} of {len(added)} calls")
            series.details["all_calls"] = {
                f"p{q:g}": quantile(everything, q / 100) for q in (50, 90, 99, 99.9)
            }
            series.details["mean"] = round(statistics.fmean(everything), 2)


async def _added(bench: Bench, work: Workload, rollouts: int, in_flight: int) -> list[float]:
    topics = (MODEL_CALLS.name, JOURNAL.name)
    played = await play(
        bench.stack.deployment, work, rollouts, in_flight=in_flight, speed="slow", also=topics
    )
    return await added_ms(Log(bench.stack.deployment), played)


async def added_ms(log: Log, played: Played) -> list[float]:
    """Milliseconds added to each model call of a run."""
    asked, accepted = {}, []
    async for event in log.events(played.run_id, played.since):
        if isinstance(event, ModelCallRequested):
            asked[event.id] = event.time
        elif isinstance(event, JournalAppended) and isinstance(event.input, ModelCallCompleted):
            accepted.append((event.input.call_id, event.time, event.input.latency_ms))
    return [1000 * (time - asked[call]).total_seconds() - model for call, time, model in accepted]


def quantile(values: list[float], q: float) -> float:
    """The value below which a share of `q` lies."""
    ordered = sorted(values)
    return round(ordered[int(q * (len(ordered) - 1))], 2)


MEASUREMENT = Measurement(
    "latency",
    measure,
    sizes=Sizes(),
    smoke=Sizes(calls=40, warm_up=400, repeats=2),
    limit_seconds=240,
    shape=STANDARD,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
