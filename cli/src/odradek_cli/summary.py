"""What a run came to: its metrics, ends, failures, tokens and times. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from odradek.metrics import AtK, Mean, Summary, summarize
from odradek_cli.runs import Run
from odradek_schemas.events import RewardAssigned
from odradek_schemas.messages import Usage


@dataclass(frozen=True)
class Spread:
    """Of some durations, in seconds: median, 95th percentile, the longest."""

    p50: float
    p95: float
    longest: float


@dataclass(frozen=True)
class RunSummary:
    """A run in figures. `planned_known`: whether the plan is known, or only what has a reward was counted."""

    run: Run
    planned_known: bool
    metrics: Summary
    rewards: tuple[RewardAssigned, ...]
    duplicates: int
    ends: Mapping[str, int]
    failures: Mapping[str, int]
    truncated_by: Mapping[str, int]
    usage: Usage
    turns: float | None
    rollout_seconds: Spread | None
    tokens_per_second: float | None


def summarize_run(run: Run, rewards: Iterable[RewardAssigned]) -> RunSummary:
    """Sum up a run from its rewards (first scoring). A rollout counts once; others are told as duplicates."""
    every = list(rewards)
    first = {reward.rollout_id: reward for reward in reversed(every)}
    counted = tuple(sorted(first.values(), key=lambda r: (_number(r.group.task_id), r.sample)))
    planned = len(counted) if run.planned is None else run.planned
    return RunSummary(
        run=run,
        planned_known=run.planned is not None,
        metrics=summarize(counted, max(planned, len(counted)), run.request.samples),
        rewards=counted,
        duplicates=len(every) - len(counted),
        ends=_counts(str(reward.status) for reward in counted),
        failures=_counts(str(reward.failure.kind) for reward in counted if reward.failure),
        truncated_by=_counts(reward.truncated_by for reward in counted if reward.truncated_by),
        usage=sum((reward.usage for reward in counted), Usage()),
        turns=sum(reward.turns for reward in counted) / len(counted) if counted else None,
        rollout_seconds=spread([_seconds(r.started_at, r.finished_at) for r in counted]),
        tokens_per_second=_tokens_per_second(counted),
    )


def spread(values: Sequence[float]) -> Spread | None:
    """Nearest-rank percentiles; None where there is no value."""
    if not values:
        return None
    ordered = sorted(values)
    return Spread(_rank(ordered, 0.5), _rank(ordered, 0.95), ordered[-1])


def as_json(summary: RunSummary) -> dict[str, Any]:
    """The summary for programs: stable names, seconds, numbers or null."""
    run, metrics = summary.run, summary.metrics
    return {
        "run_id": run.id,
        "environment": run.request.environment,
        "model": run.request.model,
        "dataset": run.request.dataset.name,
        "samples": run.request.samples,
        "status": run.status,
        "planned": metrics.planned if summary.planned_known else None,
        "finished": metrics.finished,
        "masked": metrics.masked,
        "coverage": metrics.mean.coverage,
        "mean_reward": _mean_json(metrics.mean),
        "pass_at_k": [_at_k_json(at) for at in metrics.pass_at],
        "avg_at_k": [_at_k_json(at) for at in metrics.avg_at],
        "components": dict(metrics.components),
        "ends": dict(summary.ends),
        "failures": dict(summary.failures),
        "truncated_by": dict(summary.truncated_by),
        "usage": summary.usage.model_dump() | {"total_tokens": summary.usage.total_tokens},
        "turns": summary.turns,
        "rollout_seconds": asdict(summary.rollout_seconds) if summary.rollout_seconds else None,
        "tokens_per_second": summary.tokens_per_second,
        "duplicates": summary.duplicates,
        "failure": run.finished.failure.model_dump(mode="json")
        if run.finished and run.finished.failure
        else None,
        "bad_rows": [row.model_dump() for row in run.finished.bad_rows] if run.finished else [],
        "rollouts": [_rollout_json(reward) for reward in summary.rewards],
    }


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
        "seconds": _seconds(reward.started_at, reward.finished_at),
    }


def _mean_json(mean: Mean) -> dict[str, Any]:
    return {
        "value": mean.value,
        "low": mean.low,
        "high": mean.high,
        "confidence": 0.95,
        "scored": mean.scored,
    }


def _at_k_json(at: AtK) -> dict[str, Any]:
    return {"k": at.k, "value": at.value, "tasks": at.tasks, "planned_tasks": at.planned}


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


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _number(task_id: str) -> tuple[int, str]:
    index = task_id.rpartition("/")[2]
    return (int(index) if index.isdigit() else 0, task_id)


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()
