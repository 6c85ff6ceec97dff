"""How many rollouts a second, and at what CPU, with a model that answers at once.

Everything is real and on: an embedded Kafka, the five workers as processes, journal, sealed answers, metrics. All of
it, the broker and the model included, shares the machine and is counted. Each repeat is one whole run, from the
request to its end; every rollout is checked to have exactly one trajectory and one reward.
"""

from dataclasses import dataclass

from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import IN_FLIGHT, play
from benchmarks.harness.stack import AT_ONCE, Shape, Speed
from benchmarks.harness.workloads import BOTH, Workload

STANDARD = Shape(speeds=(AT_ONCE, Speed("slow", 250)))
"""The stack as `odradek up` makes it, with a model that takes no time and one that takes 250 ms."""


@dataclass(frozen=True)
class Sizes:
    """Rollouts of one run by workload, of the warm-up (a cold JVM costs several times as much), and repeats."""

    single_turn: int = 12000
    multi_step: int = 4000
    warm_up: int = 12000
    repeats: int = 5

    def of(self, work: Workload) -> int:
        return int(getattr(self, work.name))


async def warm_up(bench: Bench, work: Workload, rollouts: int) -> None:
    """Play a run that does not count, once for each stack and workload."""
    if work.name not in bench.warm:
        say(f"{work.name}: warming up with {rollouts} rollouts")
        await play(bench.stack.deployment, work, rollouts, check=False)
        bench.warm.add(work.name)


async def measure(bench: Bench, sizes: Sizes) -> None:
    for work in BOTH:
        await warm_up(bench, work, sizes.warm_up // work.calls)
        rollouts = sizes.of(work)
        with bench.results.series(
            f"throughput.{work.name}", rollouts=rollouts, in_flight=IN_FLIGHT
        ) as series:
            for repeat in range(sizes.repeats):
                played = await play(bench.stack.deployment, work, rollouts)
                series.add(played.figures)
                rate, cost = played.figures["rollouts_per_second"], played.figures["cpu_ms_per_rollout"]
                say(
                    f"{work.name} {repeat + 1}/{sizes.repeats}: {rate:.0f} rollouts/s, {cost:.2f} ms of CPU each"
                )


MEASUREMENT = Measurement(
    "throughput",
    measure,
    sizes=Sizes(),
    smoke=Sizes(single_turn=400, multi_step=400, warm_up=800, repeats=2),
    limit_seconds=400,
    shape=STANDARD,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
