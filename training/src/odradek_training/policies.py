"""How old the policy is that a reward is of (pure)."""

import re
from collections.abc import Iterable

from odradek_schemas.events import PolicyUpdated, RewardAssigned

_NUMBER = re.compile(r"\d+$")


class Policies:
    """The version that each model serves now, as `control` tells it."""

    def __init__(self) -> None:
        self._current: dict[str, str] = {}

    def update(self, event: PolicyUpdated) -> None:
        self._current[event.model] = event.version

    def current(self, model: str) -> str | None:
        """The version that a model serves now; None: none was ever told."""
        return self._current.get(model)

    def staleness(self, reward: RewardAssigned) -> int | None:
        """How many versions the oldest call of a rollout is behind what its model serves now; never below 0.

        Versions count by the number that they end in; None: one of them ends in no number. A call made before the
        model's first version was told counts as of version 0.
        """
        current = self._current.get(reward.model)
        if current is None:
            return 0
        now, then = number(current), [number(version) for version in _versions(reward)]
        if now is None or None in then:
            return None
        return max(0, now - min(version for version in then if version is not None))


def number(version: str | None) -> int | None:
    """The number that a version ends in, if it does; no version yet is 0."""
    if version is None:
        return 0
    found = _NUMBER.search(version)
    return None if found is None else int(found[0])


def _versions(reward: RewardAssigned) -> Iterable[str | None]:
    """Of each call that is in a sample; else of the last one."""
    of_calls = [version for sample in reward.samples for version in sample.policy_versions]
    return of_calls or [reward.policy_version]
