"""Where the CPU of a rollout goes, by component and by cause: microseconds per rollout.

Each worker samples itself whenever ten milliseconds of its CPU are spent (`benchmarks/sampler`); the share of samples
with a cause is that share of the worker's CPU, as the kernel counted it in the same run. The broker's CPU is divided by
what its threads are for. Sampling costs a little, so the rate of these runs is no result.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.causes import by_cause, by_function, shares
from benchmarks.harness.machine import WORKERS
from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.runs import IN_FLIGHT, play
from benchmarks.harness.spying import Samples, sampling, spied
from benchmarks.harness.stack import running
from benchmarks.harness.workloads import BOTH, Workload
from benchmarks.throughput import STANDARD

FUNCTIONS = 25
"""How many of each component are kept with the results."""


@dataclass(frozen=True)
class Sizes:
    """Rollouts of one run by workload, and of the warm-up."""

    single_turn: int = 16000
    multi_step: int = 4800
    warm_up: int = 12000

    def of(self, work: Workload) -> int:
        return int(getattr(self, work.name))


async def measure(bench: Bench, sizes: Sizes) -> None:
    shape = replace(STANDARD, settings={worker: spied(bench.folder) for worker in WORKERS})
    say("starting a stack whose workers sample themselves")
    async with running(shape, bench.folder) as stack:
        for work in BOTH:
            rollouts = sizes.of(work)
            say(f"{work.name}: warming up, then sampling while {rollouts} rollouts are played")
            await play(stack.deployment, work, sizes.warm_up // work.calls, check=False)
            with bench.results.series(
                f"budget.{work.name}", rollouts=rollouts, in_flight=IN_FLIGHT
            ) as series:
                async with sampling(stack.deployment, bench.folder) as samples:
                    played = await play(stack.deployment, work, rollouts, check=False)
                series.add(played.figures | budget(played.cpu_ms, samples))
                series.details.update(_details(samples))


def budget(cpu_ms: Mapping[str, float], samples: Samples) -> dict[str, float]:
    """`us:component:cause` -> microseconds of CPU per rollout. What was not sampled stays in one piece."""
    found = {}
    for component, ms in cpu_ms.items():
        stacks = samples.stacks.get(component, [])
        counts: Mapping[str, float] = samples.broker if component == "kafka" else by_cause(stacks)
        for cause, share in (shares(counts) or {component: 1.0}).items():
            found[f"us:{component}:{cause}"] = round(1000 * ms * share, 1)
    return found


def _details(samples: Samples) -> dict[str, object]:
    functions = {component: by_function(stacks) for component, stacks in samples.stacks.items()}
    return {
        "samples": {component: counts.total() for component, counts in functions.items()},
        "functions": {component: _largest(counts) for component, counts in functions.items()},
    }


def _largest(functions: Counter[str]) -> dict[str, float]:
    """The share of each of the largest functions, their own time alone."""
    return {name: round(count / functions.total(), 4) for name, count in functions.most_common(FUNCTIONS)}


MEASUREMENT = Measurement(
    "budget",
    measure,
    sizes=Sizes(),
    smoke=Sizes(single_turn=800, multi_step=400, warm_up=800),
    limit_seconds=200,
)

if __name__ == "__main__":
    alone(MEASUREMENT)
