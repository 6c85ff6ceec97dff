"""One run of 100,000 rollouts: does memory grow, and does a rollout cost more at the end than at the beginning?"""

from dataclasses import dataclass

from benchmarks.harness.measurement import Bench, Measurement, alone, say
from benchmarks.harness.results import Series
from benchmarks.harness.runs import IN_FLIGHT, play
from benchmarks.harness.sampling import Sample, cpu_at, watching
from benchmarks.harness.stack import Shape
from benchmarks.harness.workloads import SINGLE_TURN

KEPT_SAMPLES = 50


@dataclass(frozen=True)
class Sizes:
    """Rollouts of the run and of the warm-up, and seconds between two looks."""

    rollouts: int = 100_000
    warm_up: int = 12_000
    look_seconds: float = 1.0


async def measure(bench: Bench, sizes: Sizes) -> None:
    deployment = bench.stack.deployment
    say(f"warming up with {sizes.warm_up} rollouts")
    await play(deployment, SINGLE_TURN, sizes.warm_up, check=False)
    with bench.results.series("endurance", rollouts=sizes.rollouts, in_flight=IN_FLIGHT) as series:
        say(f"{sizes.rollouts} rollouts in one run")
        async with watching(deployment, sizes.look_seconds) as samples:
            played = await play(deployment, SINGLE_TURN, sizes.rollouts, within=MEASUREMENT.limit_seconds)
        series.add(played.figures | _costs(samples, played.rollouts) | _growth(samples, played.rollouts))
        _keep(series, samples)
        say(
            f"{ {name: of['median'] for name, of in series.summary().items() if 'tenth' in name or 'grown' in name} }"
        )


def _costs(samples: list[Sample], rollouts: int) -> dict[str, float]:
    """Milliseconds of CPU per rollout in the first and in the last tenth of the run."""
    tenth = rollouts / 10
    at = [cpu_at(samples, share * tenth) for share in (0, 1, 9, 10)]
    first, last = (1000 * (sum(b.values()) - sum(a.values())) / tenth for a, b in (at[:2], at[2:]))
    return {
        "cpu_ms_first_tenth": round(first, 3),
        "cpu_ms_last_tenth": round(last, 3),
        "cpu_last_to_first": round(last / first, 3),
    }


def _growth(samples: list[Sample], rollouts: int) -> dict[str, float]:
    """MB by component from when a fifth was scored to the end: until then caches and heaps fill."""
    settled = next(sample for sample in samples if sample.scored >= rollouts / 5)
    grown = {name: round(rss - settled.rss[name], 1) for name, rss in samples[-1].rss.items()}
    return {
        **{f"grown_mb:{name}": mb for name, mb in grown.items()},
        **{f"rss_mb:{name}": max(sample.rss[name] for sample in samples) for name in grown},
        "workers_grown_mb": max(mb for name, mb in grown.items() if name not in ("kafka", "scripted model")),
    }


def _keep(series: Series, samples: list[Sample]) -> None:
    kept = samples[:: max(1, len(samples) // KEPT_SAMPLES)]
    series.details["rss_mb"] = [{"seconds": s.seconds, "scored": s.scored, **s.rss} for s in kept]


MEASUREMENT = Measurement(
    "endurance",
    measure,
    sizes=Sizes(),
    smoke=Sizes(rollouts=4000, warm_up=400, look_seconds=0.2),
    limit_seconds=420,
    shape=Shape(),
)

if __name__ == "__main__":
    alone(MEASUREMENT)
