"""What a stream has done, for a trainer's log."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from odradek_training.gathering import Reason
from odradek_training.judging import Judgement
from odradek_training.policies import Policies


@dataclass
class Tally:
    """Counted as it happens, from the stream's opening on."""

    groups: int = 0
    rollouts: int = 0
    partial: int = 0
    dropped_groups: Counter[str] = field(default_factory=Counter)
    dropped_rollouts: Counter[str] = field(default_factory=Counter)
    staleness: Counter[int] = field(default_factory=Counter)

    def duplicate(self) -> None:
        """A rollout's reward came twice."""
        self.dropped_rollouts[Reason.DUPLICATE] += 1

    def note(self, judgement: Judgement, policies: Policies) -> None:
        """A group was decided."""
        for reason, count in judgement.lacks.items():
            if reason is not Reason.MISSING:
                self.dropped_rollouts[reason] += count
        if judgement.group is None:
            self.dropped_groups[judgement.lacks.most_common(1)[0][0]] += 1
            self.dropped_rollouts[Reason.INCOMPLETE] += judgement.fit
            return
        self.groups += 1
        self.rollouts += judgement.fit
        self.partial += bool(judgement.lacks)
        ages = [policies.staleness(reward) for reward in judgement.group.rewards]
        self.staleness.update(age for age in ages if age is not None)


@dataclass(frozen=True)
class Stats:
    """Since the stream was opened, and as it is now.

    `groups`, `rollouts`: given out; `partial` of the groups were not whole. `dropped_groups`: by what they lacked most;
    `dropped_rollouts`: by reason. `staleness`: how many of the rollouts given out were so many versions old.
    `open_groups` wait for rollouts; `ready_groups` are decided next. `lag`: records of `rewards` that are not read yet.
    """

    groups: int
    rollouts: int
    partial: int
    dropped_groups: dict[str, int]
    dropped_rollouts: dict[str, int]
    staleness: dict[int, int]
    open_groups: int
    ready_groups: int
    lag: int

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it, but for the keys of `staleness`, which are numbers."""
        return asdict(self)
