"""10,000 rollouts in flight with a model that takes 30 s: memory of each worker, and how late their event loops are.

Twice: with a model that takes 30 s for every answer, so that what was asked in one moment comes back in one moment, and
with one that takes 15 to 45 s, as models do whose answers differ in length.

Nobody may be thrown out of its group for being busy: no partition number is taken over again while the run plays.

It needs more than the defaults: 16 partitions (the gateway may have 800 calls of each in flight, which is what fits in
the metadata of a committed offset), 16,384 unfinished rollouts of the agent-worker, and as many requests to the model.
"""

from dataclasses import dataclass

from benchmarks.harness.deployment import Deployment
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import play
from benchmarks.harness.sampling import watching
from benchmarks.harness.scrape import Scrape
from benchmarks.harness.stack import AT_ONCE, Shape, Speed
from benchmarks.harness.workloads import SINGLE_TURN
from odradek_schemas.topics import AGENT, GATEWAY

EXACT = Speed("thirty_seconds", 30_000)
SPREAD = Speed("about_thirty_seconds", 30_000, spread=0.5)
SHAPE = Shape(
    partitions=16,
    speeds=(AT_ONCE, EXACT, SPREAD),
    settings={AGENT: {"ODRADEK_MAX_ROLLOUTS_IN_FLIGHT": "16384"}, GATEWAY: {"ODRADEK_MAX_IN_FLIGHT": "800"}},
    max_concurrency=16384,
)
DELAY = "odradek_loop_delay_seconds"


@dataclass(frozen=True)
class Sizes:
    """Rollouts of the run and in flight, of the warm-up, and seconds between two looks."""

    rollouts: int = 30_000
    in_flight: int = 10_000
    warm_up: int = 8000
    look_seconds: float = 1.0


async def measure(bench: Bench, sizes: Sizes) -> None:
    deployment = bench.stack.deployment
    say(f"warming up with {sizes.warm_up} rollouts")
    await play(deployment, SINGLE_TURN, sizes.warm_up, check=False)
    for name, speed in {"crowd": EXACT, "crowd.spread": SPREAD}.items():
        await _play(bench, sizes, name, speed)


async def _play(bench: Bench, sizes: Sizes, name: str, speed: Speed) -> None:
    deployment = bench.stack.deployment
    setting = {"rollouts": sizes.rollouts, "in_flight": sizes.in_flight}
    with bench.results.series(name, **setting, model_ms=speed.milliseconds, spread=speed.spread) as series:
        say(f"{name}: {sizes.rollouts} rollouts, {sizes.in_flight} in flight")
        before = await _scrapes(deployment)
        async with watching(deployment, sizes.look_seconds) as samples:
            played = await play(
                deployment,
                SINGLE_TURN,
                sizes.rollouts,
                in_flight=sizes.in_flight,
                speed=speed.name,
                within=MEASUREMENT.limit_seconds / 2,
            )
        after = await _scrapes(deployment)
        peaks = {kind: max(sample.rss[kind] for sample in samples) for kind in deployment.ports}
        series.add(
            played.figures
            | {f"rss_mb:{kind}": peak for kind, peak in peaks.items()}
            | {"rss_mb_of_largest_worker": max(peaks.values())}
            | _delays(before, after)
            | {"taken_over_again": _taken_over(after) - _taken_over(before)}
        )
        series.details["errors"] = {kind: seen.total("odradek_errors_total") for kind, seen in after.items()}
        say(f"{ {name: of['median'] for name, of in series.summary().items()} }")


async def _scrapes(deployment: Deployment) -> dict[str, Scrape]:
    return {kind: await deployment.scrape(kind) for kind in deployment.ports}


def _delays(before: dict[str, Scrape], after: dict[str, Scrape]) -> dict[str, float]:
    """The 99th percentile of each worker's loop delay during the run, in milliseconds."""
    p99 = {kind: 1000 * (after[kind].quantile(DELAY, 0.99, before[kind]) or 0.0) for kind in after}
    return {f"loop_ms_p99:{kind}": round(ms, 1) for kind, ms in p99.items()} | {
        "loop_ms_p99_of_slowest": round(max(p99.values()), 1)
    }


def _taken_over(seen: dict[str, Scrape]) -> float:
    return sum(of.total("odradek_acquisitions_total") for of in seen.values())


MEASUREMENT = Measurement(
    "crowd",
    measure,
    sizes=Sizes(),
    smoke=Sizes(rollouts=400, in_flight=400, warm_up=400, look_seconds=0.5),
    limit_seconds=480,
    shape=SHAPE,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
