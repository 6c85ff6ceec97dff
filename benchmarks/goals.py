"""What is promised: each figure with its goal, in the order of the table."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Goal:
    """One row: a figure of a series, and the bound that it is to keep; `bound` None: it is only told."""

    title: str
    series: str
    figure: str
    unit: str
    keeps: Callable[[Any, Any], bool] | None = None
    bound: float | None = None

    @property
    def text(self) -> str:
        if self.keeps is None or self.bound is None:
            return ""
        sign = {operator.ge: "≥", operator.le: "≤", operator.eq: "="}[self.keeps]
        return f"{sign} {self.bound:,g} {self.unit}".strip()

    def measured(self, figure: Mapping[str, Any]) -> float:
        """The median; of what may not happen even once, the worst repeat."""
        return float(figure["max" if self.keeps is operator.eq else "median"])

    def met(self, figure: Mapping[str, Any]) -> bool | None:
        """Whether the figure keeps its bound; None: there is none."""
        return None if self.keeps is None else self.keeps(self.measured(figure), self.bound)


def at_least(title: str, series: str, figure: str, unit: str, bound: float) -> Goal:
    return Goal(title, series, figure, unit, operator.ge, bound)


def at_most(title: str, series: str, figure: str, unit: str, bound: float) -> Goal:
    return Goal(title, series, figure, unit, operator.le, bound)


def exactly(title: str, series: str, figure: str, unit: str, bound: float) -> Goal:
    return Goal(title, series, figure, unit, operator.eq, bound)


HTTP = "gateway.http"
ONE, FOUR = "throughput.single_turn", "throughput.multi_step"

GOALS = (
    at_least("single turn, rollouts per second", ONE, "rollouts_per_second", "", 2500),
    at_most("single turn, CPU per rollout, all processes", ONE, "cpu_ms_per_rollout", "ms", 0.8),
    exactly("single turn, lost", ONE, "lost", "", 0),
    exactly("single turn, duplicate", ONE, "duplicate", "", 0),
    at_least("4 model and 3 tool calls, rollouts per second", FOUR, "rollouts_per_second", "", 600),
    at_most(
        "4 model and 3 tool calls, CPU per rollout, all processes", FOUR, "cpu_ms_per_rollout", "ms", 3.3
    ),
    exactly("4 model and 3 tool calls, lost", FOUR, "lost", "", 0),
    exactly("4 model and 3 tool calls, duplicate", FOUR, "duplicate", "", 0),
    at_most("added to a model call, single turn, p50", "latency.single_turn", "added_ms_p50", "ms", 15),
    at_most("added to a model call, single turn, p99", "latency.single_turn", "added_ms_p99", "ms", 50),
    at_most("added to a model call, with tool calls, p50", "latency.multi_step", "added_ms_p50", "ms", 15),
    at_most("added to a model call, with tool calls, p99", "latency.multi_step", "added_ms_p99", "ms", 50),
    at_least("1,024 in flight, 1 s model, rollouts per second", "inflight", "rollouts_per_second", "", 900),
    at_most("1,024 in flight, 1 s model, median rollout", "inflight", "rollout_seconds_p50", "s", 1.15),
    at_least(
        "gateway over Kafka, requests per second of one core",
        "gateway.kafka",
        "requests_per_second_of_one_core",
        "",
        1500,
    ),
    at_most("gateway over Kafka, added p50 at 500/s", "gateway.kafka", "added_ms_p50_at_500", "ms", 3),
    at_most("gateway over Kafka, added p99 at 500/s", "gateway.kafka", "added_ms_p99_at_500", "ms", 15),
    at_least(
        "gateway over HTTP, requests per second of one core",
        HTTP,
        "requests_per_second_of_one_core",
        "",
        1000,
    ),
    at_most("gateway over HTTP, added p50 at 500/s", HTTP, "added_ms_p50_at_500", "ms", 3),
    at_most("gateway over HTTP, added p99 at 500/s", HTTP, "added_ms_p99_at_500", "ms", 15),
    Goal("scored per second and core, first time", "scoring", "trajectories_per_second_per_core", ""),
    at_least("re-scored per second and core", "rescoring", "trajectories_per_second_per_core", "", 5000),
    at_least("audited records per second", "audit", "records_per_second", "", 20000),
    at_most("start of the whole stack, new data", "startup", "start_seconds", "s", 8),
    at_most("memory of broker and workers after the start", "idle", "pss_mb_after_start", "MB", 900),
    at_most("memory of broker and workers at rest after runs", "idle", "pss_mb_after_runs", "MB", 900),
    Goal("CPU at rest, of one core", "idle", "cpu_percent_after_runs", "%"),
)
"""The figures of `make bench`."""

LONG_GOALS = (
    at_most(
        "100,000 rollouts: CPU of the last tenth to the first", "endurance", "cpu_last_to_first", "", 1.1
    ),
    at_most(
        "100,000 rollouts: growth of any worker after the first fifth",
        "endurance",
        "workers_grown_mb",
        "MB",
        20,
    ),
    exactly("100,000 rollouts: lost", "endurance", "lost", "", 0),
    exactly("100,000 rollouts: duplicate", "endurance", "duplicate", "", 0),
    at_most("10,000 in flight: memory of the largest worker", "crowd", "rss_mb_of_largest_worker", "MB", 600),
    at_most(
        "10,000 in flight: loop delay p99 of the slowest worker", "crowd", "loop_ms_p99_of_slowest", "ms", 50
    ),
    at_most("the same, answers that take 15 to 45 s", "crowd.spread", "loop_ms_p99_of_slowest", "ms", 50),
    exactly("10,000 in flight: partitions taken over again", "crowd", "taken_over_again", "", 0),
    exactly("10,000 in flight: lost", "crowd", "lost", "", 0),
    exactly("10,000 in flight: duplicate", "crowd", "duplicate", "", 0),
)
"""The figures of `make bench-long`. The bounds of flatness are ours: the goal says flat."""
