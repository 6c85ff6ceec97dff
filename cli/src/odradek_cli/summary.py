"""What a run came to: its metrics, ends, failures, tokens and times. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import count
from typing import Any

from odradek.metrics import ANSWER, CONFIDENCE, Figure, Missing, Placed, Plan, Summary, groups, summarize
from odradek_cli.runs import Run
from odradek_schemas import ids
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RewardAssigned, RunImported
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_schemas.messages import Usage


@dataclass(frozen=True)
class Ways:
    """How figures are made: of which scoring, what missing rollouts count, what passes, what is voted on, grouped by
    which field of the tasks."""

    scoring: str = PRIMARY_SCORING
    missing: Missing = Missing.EXCLUDE
    threshold: float = 1.0
    answer: str = ANSWER
    by: str | None = None


@dataclass(frozen=True)
class RunSummary:
    """A run in figures. `planned_known`: whether the plan is known, or only what has a reward was counted.

    `groups`: the same figures by the value of the field that was asked for; None: tasks without it.
    """

    run: Run
    ways: Ways
    planned_known: bool
    metrics: Summary
    groups: Mapping[str | None, Summary]
    placed: Placed
    duplicates: int
    ends: Mapping[str, int]
    failures: Mapping[str, int]
    truncated_by: Mapping[str, int]
    usage: Usage
    tokens_per_second: float | None

    @property
    def rewards(self) -> list[RewardAssigned]:
        """Each rollout's, by the numbers of task and sample."""
        return self.placed.rewards


def summarize_run(
    run: Run,
    rewards: Iterable[RewardAssigned],
    ways: Ways | None = None,
    tasks: Mapping[str, JsonObject] | None = None,
) -> RunSummary:
    """Sum up a run from its rewards of one scoring. A rollout counts once; others are told as duplicates.

    `tasks`, by id, are needed for groups.
    """
    every, ways = list(rewards), ways or Ways()
    first = {reward.rollout_id: reward for reward in reversed(every)}
    placed = place_rewards(run, list(first.values()))
    counted = placed.rewards
    return RunSummary(
        run=run,
        ways=ways,
        planned_known=run.planned is not None,
        metrics=_summary(placed, ways, placed.plan.samples),
        groups=_groups(placed, ways, tasks or {}),
        placed=placed,
        duplicates=len(every) - len(counted),
        ends=_counts(str(reward.status) for reward in counted),
        failures=_counts(str(reward.failure.kind) for reward in counted if reward.failure),
        truncated_by=_counts(reward.truncated_by for reward in counted if reward.truncated_by),
        usage=sum((reward.usage for reward in counted), Usage()),
        tokens_per_second=_tokens_per_second(counted),
    )


def place_rewards(run: Run, rewards: Sequence[RewardAssigned]) -> Placed:
    """The rewards in the run's plan. Before that is known, all tasks that have a reward are taken for planned."""
    if isinstance(run.request, RunImported):
        return _place_imported(run.request, rewards)
    samples = run.request.samples
    seen = 1 + max((task_number(reward.group.task_id) for reward in rewards), default=-1)
    return Plan.of_run(run.id, max(run.planned or 0, seen * samples), samples).place(rewards)


def _place_imported(request: RunImported, rewards: Sequence[RewardAssigned]) -> Placed:
    """Tasks have as many samples as were recorded, with gaps in their numbers; those without a reward come last."""
    rows: dict[str, list[RewardAssigned]] = {}
    for reward in sorted(rewards, key=lambda one: (task_number(one.group.task_id), one.sample)):
        rows.setdefault(reward.group.task_id, []).append(reward)
    sizes = {task: max(row[0].group.size, len(row)) for task, row in rows.items()}
    unused = (task for index in count() if (task := ids.task_id(request.run_id, index)) not in rows)
    while (left := request.rollouts - sum(sizes.values())) > 0:
        sizes[next(unused)] = min(left, request.samples)
    renumbered = [
        one.model_copy(update={"sample": sample}) for row in rows.values() for sample, one in enumerate(row)
    ]
    return Plan(sizes).place(renumbered)


def task_number(task_id: str) -> int:
    """The number of a task in its data set."""
    return int(task_id.rpartition("/")[2])


def as_json(summary: RunSummary) -> dict[str, Any]:
    """The summary for programs: stable names, seconds, numbers or null."""
    run, ways = summary.run, summary.ways
    return {
        "run_id": run.id,
        "environment": run.request.environment,
        "model": run.request.model,
        "dataset": run.request.dataset.name,
        "samples": run.request.samples,
        "status": run.status,
        "scoring": ways.scoring,
        "missing": str(ways.missing),
        "threshold": ways.threshold,
        **_metrics_json(summary.metrics),
        "planned": summary.metrics.planned if summary.planned_known else None,
        "groups": [{"value": value, **_metrics_json(figures)} for value, figures in summary.groups.items()],
        "grouped_by": ways.by,
        "ends": dict(summary.ends),
        "failures": dict(summary.failures),
        "truncated_by": dict(summary.truncated_by),
        "usage": summary.usage.model_dump() | {"total_tokens": summary.usage.total_tokens},
        "tokens_per_second": summary.tokens_per_second,
        "duplicates": summary.duplicates,
        "failure": run.finished.failure.model_dump(mode="json")
        if run.finished and run.finished.failure
        else None,
        "bad_rows": [row.model_dump() for row in run.finished.bad_rows] if run.finished else [],
        "rollouts": [_rollout_json(reward) for reward in summary.rewards],
    }


def figure_json(figure: Figure) -> dict[str, Any]:
    return {
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "confidence": CONFIDENCE,
        "standard_error": figure.error,
        "scored": figure.scored,
        "planned": figure.planned,
        "coverage": figure.coverage,
        "missing": str(figure.missing),
    }


def _metrics_json(metrics: Summary) -> dict[str, Any]:
    return {
        "planned": metrics.planned,
        "tasks": metrics.tasks,
        "finished": metrics.finished,
        "masked": metrics.masked,
        "coverage": metrics.mean.coverage,
        "mean_reward": figure_json(metrics.mean),
        "pass_at_k": _at_k_json(metrics.pass_at),
        "pass_hat_k": _at_k_json(metrics.pass_hat),
        "avg_at_k": _at_k_json(metrics.avg_at),
        "majority_at_k": _at_k_json(metrics.majority_at),
        "components": {name: figure_json(figure) for name, figure in metrics.components.items()},
        "spent": {name: asdict(percentiles) for name, percentiles in metrics.spent.items()},
    }


def _at_k_json(figures: Mapping[int, Figure]) -> list[dict[str, Any]]:
    """Figures over tasks: `scored` and `planned` count tasks."""
    return [{"k": k} | figure_json(figure) for k, figure in figures.items()]


def _rollout_json(reward: RewardAssigned) -> dict[str, Any]:
    return {
        "rollout_id": reward.rollout_id,
        "reward": reward.reward,
        "masked": reward.masked,
        "components": reward.components,
        "status": str(reward.status),
        "failure": str(reward.failure.kind) if reward.failure else None,
        "turns": reward.turns,
        "attempt": reward.attempt,
        "total_tokens": reward.usage.total_tokens,
        "cost": reward.cost,
        "seconds": _seconds(reward.started_at, reward.finished_at),
    }


def _summary(placed: Placed, ways: Ways, samples: int) -> Summary:
    return summarize(placed, ways.missing, ways.threshold, ways.answer, samples)


def _groups(placed: Placed, ways: Ways, tasks: Mapping[str, JsonObject]) -> dict[str | None, Summary]:
    if ways.by is None:
        return {}
    found = groups(placed.plan.tasks, tasks, ways.by)
    most = placed.plan.samples
    return {value: _summary(placed.part(members), ways, most) for value, members in found.items()}


def _counts(names: Iterable[str]) -> Mapping[str, int]:
    """By name, the most frequent first."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _tokens_per_second(rewards: Sequence[RewardAssigned]) -> float | None:
    """Completion tokens over the time from the first start to the last end."""
    if not rewards:
        return None
    lasted = _seconds(min(r.started_at for r in rewards), max(r.finished_at for r in rewards))
    tokens = sum(reward.usage.completion_tokens for reward in rewards)
    return tokens / lasted if lasted > 0 else None


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()
