"""What was planned, and what it got: every figure stands on a table with one place for each planned rollout."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from odradek_schemas import ids
from odradek_schemas.base import JsonObject
from odradek_schemas.events import RewardAssigned


class Missing(StrEnum):
    """What a planned rollout without a value counts: it never ended, its reward is masked, or it lacks the component.

    `exclude`: it is in no figure, and lowers the coverage. `zero`: it counts as 0, which fails.
    """

    EXCLUDE = "exclude"
    ZERO = "zero"


Scores = Mapping[str, Sequence[float | None]]
"""By task, in the order of the samples: one place for each planned rollout, None where it has no value."""


@dataclass(frozen=True, slots=True)
class Ballot:
    """What one rollout answered, None where no answer could be read, and the score that it got for it."""

    score: float
    answer: str | None


Ballots = Mapping[str, Sequence[Ballot | None]]
"""By task, in the order of the samples; None for a rollout without a score."""


@dataclass(frozen=True)
class Plan:
    """Which rollouts were to be: how many samples of each task, by the task's id."""

    sizes: Mapping[str, int]

    @classmethod
    def of_run(cls, run_id: str, planned: int, samples: int) -> "Plan":
        """The plan of a run of `planned` rollouts, `samples` of each task; tasks are numbered from 0."""
        return cls({ids.task_id(run_id, index): samples for index in range(math.ceil(planned / samples))})

    @property
    def tasks(self) -> list[str]:
        return list(self.sizes)

    @property
    def samples(self) -> int:
        """The most samples of a task, 1 where there is no task."""
        return max(self.sizes.values(), default=1)

    @property
    def rollouts(self) -> int:
        return sum(self.sizes.values())

    def place(self, rewards: Iterable[RewardAssigned]) -> "Placed":
        """Put each reward of one scoring in its place.

        Raises:
            ValueError: one was not planned, is there twice, or is no finite number.
        """
        placed: dict[str, list[RewardAssigned | None]] = {
            task: [None] * size for task, size in self.sizes.items()
        }
        for reward in rewards:
            row = placed.get(reward.group.task_id)
            if row is None or not 0 <= reward.sample < len(row):
                raise ValueError(f"{reward.rollout_id} is not planned: pass the rewards of this run alone")
            if row[reward.sample] is not None:
                raise ValueError(f"{reward.rollout_id} is there twice: pass the rewards of one scoring")
            _check_finite(reward)
            row[reward.sample] = reward
        return Placed(self, placed)


@dataclass(frozen=True)
class Placed:
    """The rewards of one scoring where the plan has them; None for a rollout that has none."""

    plan: Plan
    rows: Mapping[str, Sequence[RewardAssigned | None]]

    @property
    def rewards(self) -> list[RewardAssigned]:
        """Those that are there, masked ones too, by task and sample."""
        return [reward for row in self.rows.values() for reward in row if reward is not None]

    @property
    def scores(self) -> Scores:
        return self._read(_score)

    @property
    def components(self) -> dict[str, Scores]:
        """The same for each component that any reward has."""
        scored = [reward for reward in self.rewards if not reward.masked]
        names = sorted({name for reward in scored for name in reward.components})
        return {name: self._read(_component(name)) for name in names}

    def ballots(self, key: str) -> Ballots | None:
        """What each rollout answered, by `details[key]`; None where no reward has such a detail."""
        if not any(key in reward.details for reward in self.rewards if not reward.masked):
            return None
        return {
            task: [None if reward is None else _ballot(reward, key) for reward in row]
            for task, row in self.rows.items()
        }

    def part(self, tasks: Sequence[str]) -> "Placed":
        """The same for some tasks of the plan."""
        sizes = {task: self.plan.sizes[task] for task in tasks}
        return Placed(Plan(sizes), {task: self.rows[task] for task in tasks})

    def _read(self, value: Callable[[RewardAssigned], float | None]) -> Scores:
        return {
            task: [None if reward is None else value(reward) for reward in row]
            for task, row in self.rows.items()
        }


def groups(tasks: Sequence[str], fields: Mapping[str, JsonObject], path: str) -> dict[str | None, list[str]]:
    """The tasks by the value that they have at `path` (names and positions with dots between); None: no such field.

    `fields` holds the tasks as their environment has them, by id. Values that are not text are told as JSON.
    """
    found: dict[str | None, list[str]] = {}
    for task in tasks:
        found.setdefault(_field(fields.get(task), path.split(".")), []).append(task)
    return dict(sorted(found.items(), key=lambda item: (item[0] is None, item[0] or "")))


def as_text(value: object) -> str | None:
    """A JSON value as one word of a vote or a group: text as it is without spaces around, None and "" as None."""
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text or None


def _field(value: object, path: Sequence[str]) -> str | None:
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return as_text(value)


def _score(reward: RewardAssigned) -> float | None:
    return None if reward.masked else reward.reward


def _component(name: str) -> Callable[[RewardAssigned], float | None]:
    return lambda reward: None if reward.masked else reward.components.get(name)


def _ballot(reward: RewardAssigned, key: str) -> Ballot | None:
    score = _score(reward)
    return None if score is None else Ballot(score, as_text(reward.details.get(key)))


def _check_finite(reward: RewardAssigned) -> None:
    for name, value in {"reward": reward.reward, **reward.components}.items():
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{reward.rollout_id}: {name} is {value}, which is no finite number")
