"""How many rollouts a second a slow model allows: 1,024 in flight, and a model that takes one second.

The model alone would allow 1,024 a second; what is missing is the time that a rollout spends elsewhere. Its seconds
are those between its start and its end in its reward's record.
"""

from dataclasses import dataclass

from benchmarks.harness.log import Log
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import play
from benchmarks.harness.stack import AT_ONCE, Shape, Speed
from benchmarks.harness.workloads import SINGLE_TURN
from benchmarks.latency import quantile
from odradek_schemas.events import RewardAssigned
from odradek_schemas.topics import GATEWAY, REWARDS

IN_FLIGHT = 1024
SHAPE = Shape(
    speeds=(AT_ONCE, Speed("one_second", 1000)),
    settings={GATEWAY: {"ODRADEK_MAX_IN_FLIGHT": "512"}},
    max_concurrency=2 * IN_FLIGHT,
)
"""Four partitions do not share 1,024 rollouts evenly: the gateway must allow each more than its 256."""


@dataclass(frozen=True)
class Sizes:
    """Rollouts of one run, of the warm-up, and repeats."""

    rollouts: int = 10000
    warm_up: int = 12000
    repeats: int = 5


async def measure(bench: Bench, sizes: Sizes) -> None:
    deployment = bench.stack.deployment
    say(f"warming up with {sizes.warm_up} rollouts")
    await play(deployment, SINGLE_TURN, sizes.warm_up, check=False)
    with bench.results.series(
        "inflight", rollouts=sizes.rollouts, in_flight=IN_FLIGHT, model_ms=1000, settings=dict(SHAPE.settings)
    ) as series:
        for repeat in range(sizes.repeats):
            played = await play(
                deployment,
                SINGLE_TURN,
                sizes.rollouts,
                in_flight=IN_FLIGHT,
                speed="one_second",
                also=(REWARDS.name,),
            )
            seconds = [
                (event.finished_at - event.started_at).total_seconds()
                async for event in Log(deployment).events(played.run_id, played.since)
                if isinstance(event, RewardAssigned)
            ]
            series.add(played.figures | {"rollout_seconds_p50": quantile(seconds, 0.5),
                                         "rollout_seconds_p99": quantile(seconds, 0.99)})  # fmt: skip
            rate, median = played.figures["rollouts_per_second"], quantile(seconds, 0.5)
            say(f"{repeat + 1}/{sizes.repeats}: {rate:.0f} rollouts/s, the median one {median} s")


MEASUREMENT = Measurement(
    "inflight",
    measure,
    sizes=Sizes(),
    smoke=Sizes(rollouts=1200, warm_up=400, repeats=2),
    limit_seconds=180,
    shape=SHAPE,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
