"""What a re-score changed: each trajectory's score before and after. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from odradek_schemas.events import RewardAssigned

MOST_EXAMPLES = 10


class Change(StrEnum):
    """`newly_failed`: it had a reward and is masked now; `newly_scored`: the other way round."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    NEWLY_FAILED = "newly_failed"
    NEWLY_SCORED = "newly_scored"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Score:
    """What one scoring said of one trajectory; `reward` None: masked, for the reason of `failure`."""

    task_id: str
    reward: float | None
    failure: str | None
    verifier: str

    @classmethod
    def of(cls, reward: RewardAssigned) -> "Score":
        verifier, failure = reward.verifier, reward.failure
        return cls(
            task_id=reward.group.task_id,
            reward=None if reward.masked else reward.reward,
            failure=str(failure.kind) if failure else None,
            verifier=f"{verifier.name}@{verifier.version}" if verifier else "-",
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """One trajectory that is scored otherwise now."""

    rollout_id: str
    change: Change
    before: Score | None
    after: Score


@dataclass(frozen=True)
class RescoreDiff:
    """All of a re-score. `by_task`: how many of a task's trajectories changed, tasks with none left out."""

    counts: Mapping[Change, int]
    by_task: Mapping[str, Mapping[Change, int]]
    differences: tuple[Difference, ...]
    verifiers_before: tuple[str, ...]
    verifiers_after: tuple[str, ...]

    @property
    def examples(self) -> tuple[Difference, ...]:
        """Some of each kind of change."""
        kinds = [change for change in Change if self.counts.get(change)]
        each = max(1, MOST_EXAMPLES // max(1, len(kinds)))
        return tuple(d for kind in kinds for d in [d for d in self.differences if d.change is kind][:each])


def change(before: Score | None, after: Score) -> Change:
    """How two scores differ. Two that are masked are the same, whatever the reason."""
    if before is None:
        return Change.NEW
    if before.reward is None or after.reward is None:
        if before.reward is after.reward:
            return Change.UNCHANGED
        return Change.NEWLY_FAILED if after.reward is None else Change.NEWLY_SCORED
    return Change.UNCHANGED if before.reward == after.reward else Change.CHANGED


def diff(before: Mapping[str, Score], after: Mapping[str, Score]) -> RescoreDiff:
    """Compare by rollout id, in the order of `after`."""
    found = [
        Difference(rollout_id, change(before.get(rollout_id), score), before.get(rollout_id), score)
        for rollout_id, score in after.items()
    ]
    changed = tuple(d for d in found if d.change not in (Change.UNCHANGED, Change.NEW))
    by_task: dict[str, Counter[Change]] = {}
    for difference in changed:
        by_task.setdefault(difference.after.task_id, Counter())[difference.change] += 1
    return RescoreDiff(
        counts=Counter(d.change for d in found),
        by_task=by_task,
        differences=changed,
        verifiers_before=_verifiers(d.before for d in found),
        verifiers_after=_verifiers(d.after for d in found),
    )


def as_json(difference: RescoreDiff) -> dict[str, Any]:
    """For programs: every change, by rollout."""
    return {
        "counts": {str(kind): difference.counts.get(kind, 0) for kind in Change},
        "by_task": {
            task: {str(k): n for k, n in kinds.items()} for task, kinds in difference.by_task.items()
        },
        "verifiers_before": list(difference.verifiers_before),
        "verifiers_after": list(difference.verifiers_after),
        "differences": [
            {
                "rollout_id": d.rollout_id,
                "change": str(d.change),
                "before": None if d.before is None else d.before.reward,
                "after": d.after.reward,
                "failure": d.after.failure,
            }
            for d in difference.differences
        ],
    }


def _verifiers(scores: Iterable[Score | None]) -> tuple[str, ...]:
    return tuple(sorted({score.verifier for score in scores if score is not None}))
