"""The rewards of a run, added up, and what its last word says of them."""

from collections import Counter
from collections.abc import Iterator
from math import isclose
from typing import Any

from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.reading import usage_of
from odradek.audit.records import Place
from odradek_schemas.events import RunCounts, RunFinished, RunStatus
from odradek_schemas.messages import Usage

_COUNTED = ("finished", "completed", "truncated", "failed", "cancelled", "masked")
_SUMS = ("reward_sum", "reward_square_sum")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")


class Tally:
    """Counts as the task-producer counts, from the records themselves."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._sum = 0.0
        self._squares = 0.0
        self._usage = [0, 0, 0, 0]

    def add(self, body: dict[str, Any]) -> None:
        """Count a primary `RewardAssigned`."""
        reward = body.get("reward")
        self.counted.update(("finished", body["status"]))
        if body["masked"] or reward is None:
            self.counted["masked"] += 1
        else:
            self._sum += reward
            self._squares += reward * reward
        if failure := body.get("failure"):
            self.failures[failure["kind"]] += 1
        for number, tokens in enumerate(usage_of(body["usage"])):
            self._usage[number] += tokens

    def add_unreadable(self) -> None:
        """Count a primary reward that can't be read."""
        self.counted.update(("finished", "failed", "masked"))
        self.failures["unreadable_record"] += 1

    def total(self) -> RunCounts:
        return RunCounts(
            **{name: self.counted[name] for name in _COUNTED},
            reward_sum=self._sum,
            reward_square_sum=self._squares,
            failures=dict(sorted(self.failures.items())),
            usage=Usage(**dict(zip(_TOKENS, self._usage, strict=True))),
        )


def check_end(tally: Tally, finished: RunFinished, place: Place) -> Iterator[Violation]:
    """The counts of `RunFinished` are those of the rewards.

    A cancelled run does not wait for its last rollouts for ever: their rewards may come after its last word.
    """
    told, seen = finished.counts, tally.total()
    partly = finished.status is RunStatus.CANCELLED and told.finished < finished.admitted
    for name, expected, found in _figures(told, seen):
        if isclose(expected, found, rel_tol=1e-9, abs_tol=1e-9):
            continue
        if partly and (name in _SUMS or expected <= found):
            continue
        what = f"RunFinished counts other {name} than the rewards of the run show"
        yield violation(Invariant.END, what, [place], f"{found:g} (rewards)", f"{expected:g} (RunFinished)")
    if finished.status is RunStatus.FINISHED and not finished.planned == finished.admitted == told.finished:
        figures = f"{finished.planned} planned, {finished.admitted} admitted, {told.finished} finished"
        what = "a finished run has played all that was planned"
        yield violation(Invariant.END, what, [place], "three equal figures", figures)


def _figures(told: RunCounts, seen: RunCounts) -> Iterator[tuple[str, float, float]]:
    for name in (*_COUNTED, *_SUMS):
        yield name, getattr(told, name), getattr(seen, name)
    for kind in sorted(told.failures.keys() | seen.failures.keys()):
        yield f"failures of kind {kind}", told.failures.get(kind, 0), seen.failures.get(kind, 0)
    for name in _TOKENS:
        yield f"usage.{name}", getattr(told.usage, name), getattr(seen.usage, name)
