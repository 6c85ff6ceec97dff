"""Two scorings against each other, of two runs or of one. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odradek.metrics import CONFIDENCE, Comparison, Missing, Pair, Scores, compare
from odradek_cli.errors import CliError, Exit
from odradek_cli.runs import Run
from odradek_cli.summary import figure_json, place_rewards, task_number
from odradek_schemas.events import RewardAssigned
from odradek_schemas.events.results import PRIMARY_SCORING


@dataclass(frozen=True)
class Side:
    """One of the two: a run, which scoring of it, and the scores by the number of the task."""

    run: Run
    scoring: str
    scores: Scores

    @property
    def name(self) -> str:
        return self.run.id if self.scoring == PRIMARY_SCORING else f"{self.run.id}@{self.scoring}"

    @property
    def planned(self) -> int:
        """How many rollouts were to be."""
        return sum(map(len, self.scores.values()))

    @property
    def scored(self) -> int:
        """How many of them have a score."""
        return sum(score is not None for row in self.scores.values() for score in row)


@dataclass(frozen=True)
class RunComparison:
    """`found` is what came of it. `seed`: the bootstrap's."""

    a: Side
    b: Side
    found: Comparison
    seed: int

    @property
    def unpaired(self) -> tuple[int, int]:
        """How many tasks only `a` has planned, and how many only `b`."""
        a, b = self.a.scores.keys(), self.b.scores.keys()
        return len(a - b), len(b - a)


def parse_side(name: str) -> tuple[str, str]:
    """The run and the scoring in `RUN` or `RUN@SCORING`.

    Raises:
        CliError: one of them is empty.
    """
    run_id, at, scoring = name.partition("@")
    if not run_id or (at and not scoring):
        raise CliError(f"{name!r} names no scoring of a run", Exit.INVALID_INPUT, "write RUN or RUN@SCORING")
    return run_id, scoring or PRIMARY_SCORING


def make_side(run: Run, scoring: str, rewards: Sequence[RewardAssigned]) -> Side:
    """Its scores by the tasks' numbers. Of two rewards of one rollout the first counts."""
    first = {reward.rollout_id: reward for reward in reversed(rewards)}
    scores = place_rewards(run, list(first.values())).scores
    return Side(run, scoring, {str(task_number(task)): row for task, row in scores.items()})


def compare_sides(a: Side, b: Side, missing: Missing, threshold: float, seed: int) -> RunComparison:
    """`b` against `a`.

    Raises:
        CliError: they have no task in common.
    """
    if not a.scores.keys() & b.scores.keys():
        raise CliError(f"{a.name} and {b.name} have no task in common", Exit.INVALID_INPUT)
    return RunComparison(a, b, compare(a.scores, b.scores, missing, threshold, seed), seed)


def comparison_json(comparison: RunComparison) -> dict[str, Any]:
    """The comparison for programs: stable names, numbers or null."""
    found = comparison.found
    return {
        "a": _side_json(comparison.a) | {"mean_reward": figure_json(found.a)},
        "b": _side_json(comparison.b) | {"mean_reward": figure_json(found.b)},
        "missing": str(found.missing),
        "threshold": found.threshold,
        "planned_tasks": found.planned,
        "paired_tasks": len(found.pairs),
        "coverage": found.coverage,
        "only_in_a": comparison.unpaired[0],
        "only_in_b": comparison.unpaired[1],
        "difference": {
            "value": found.difference,
            "low": found.low,
            "high": found.high,
            "confidence": CONFIDENCE,
        },
        "test": None if found.test is None else str(found.test),
        "p_value": found.p_value,
        "seed": comparison.seed,
        "gained": [pair.task for pair in found.gained],
        "lost": [pair.task for pair in found.lost],
        "tasks": [_pair_json(pair) for pair in found.pairs],
    }


def _side_json(side: Side) -> dict[str, Any]:
    request = side.run.request
    return {
        "run_id": side.run.id,
        "scoring": side.scoring,
        "environment": request.environment,
        "model": request.model,
        "dataset": request.dataset.name,
        "status": side.run.status,
        "planned": side.planned,
        "scored": side.scored,
    }


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "task": pair.task,
        "a": pair.a,
        "b": pair.b,
        "difference": pair.difference,
        "passed_a": pair.passed_a,
        "passed_b": pair.passed_b,
    }
