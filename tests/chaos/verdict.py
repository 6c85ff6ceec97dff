"""What a run was like that was struck: what was lost, doubled and repeated, and how long it stood still."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from odradek_schemas.events import RewardAssigned, RunFinished
from odradek_schemas.failures import FailureKind
from odradek_schemas.rollouts import RolloutStatus
from tests.chaos.arena import Field, Hit
from tests.chaos.scenario import Expected
from tests.chaos.watch import Sight, Watch

CLOCK_SECONDS = 0.001
"""Records have times in whole milliseconds, rounded down."""
ELSEWHERE = ("runs", "run-progress", "control")
"""Topics on which a worker also writes to partition numbers that are not its own."""


@dataclass(frozen=True)
class Asked:
    """One request that the model's server got."""

    call: str
    time: float


class RequestLog:
    """What the scripted models note, from here on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._start = path.stat().st_size

    def of(self, run: str) -> list[Asked]:
        with self._path.open("rb") as file:
            file.seek(self._start)
            lines = [json.loads(line) for line in file.read().splitlines()]
        return [Asked(x["request_id"], x["time"]) for x in lines if x["request_id"].partition("/")[0] == run]


@dataclass(frozen=True)
class Repeats:
    """Model calls that were made more than once."""

    answered: int
    """Made again when their answers were in the log."""
    in_flight: int
    """Made again, their answers having been nowhere yet."""
    most: int
    """How often the most repeated of them was made beyond the first."""


def repeats(asked: Iterable[Asked], answers: Iterable[Sight]) -> Repeats:
    """Compare what the models were asked with the answers that were committed."""
    asked = list(asked)
    answered_at = {s.id.rpartition("/")[0]: s.written for s in answers if s.type == "ModelCallCompleted"}
    late = {a.call for a in asked if a.time > answered_at.get(a.call, a.time) + CLOCK_SECONDS}
    again = {call: times - 1 for call, times in Counter(a.call for a in asked).items() if times > 1}
    return Repeats(len(late), len(again.keys() - late), max(again.values(), default=0))


@dataclass(frozen=True)
class Recovery:
    """Seconds until what was struck wrote again: anything at all, and to each partition that had work left."""

    first: float | None
    every: float | None


def recovery(watch: Watch, run: str, hits: list[Hit]) -> Recovery:
    """After the last hit. Of several workers that were struck together the slowest counts."""
    if not hits:
        return Recovery(None, None)
    hit = hits[-1]
    firsts, everys = [], []
    for kind, partitions in hit.workers:
        seen: dict[int, float] = {}
        for sight in watch.of(run):
            theirs = sight.source == kind and sight.topic not in ELSEWHERE
            if theirs and sight.written >= hit.since and sight.seen >= hit.mended:
                seen.setdefault(sight.partition, sight.seen - hit.mended)
        times = [seconds for partition, seconds in seen.items() if partition in partitions]
        if times:
            firsts.append(min(times))
            everys.append(max(times))
    return Recovery(max(firsts, default=None), max(everys, default=None))


@dataclass(frozen=True)
class Counts:
    """What a reader counts of a finished run."""

    planned: int
    ended: dict[str, int]
    lost: int
    duplicate: int


def counts(watch: Watch, finished: RunFinished) -> Counts:
    """Each planned rollout must have one trajectory and one reward."""
    run, planned = finished.run_id, finished.planned
    found = [watch.count(run, topic) for topic in ("tasks", "trajectories", "rewards")]
    return Counts(
        planned=planned,
        ended=dict(Counter(str(reward.status) for reward in rewards(watch, run))),
        lost=max(planned - len(rollouts) for rollouts in found),
        duplicate=sum(rollouts.total() - len(rollouts) for rollouts in found),
    )


def rewards(watch: Watch, run: str) -> list[RewardAssigned]:
    return [s.event for s in watch.of(run, "rewards") if isinstance(s.event, RewardAssigned)]


def unexpected(watch: Watch, finished: RunFinished, expected: Expected) -> list[str]:
    """In what the run's end is not as the scenario says."""
    problems = []
    if finished.status is not expected.status:
        problems.append(f"the run is {finished.status}, not {expected.status}: {finished.failure}")
    letters = sum(s.type == "RecordRejected" for s in watch.sights if s.topic == "dead-letters")
    if letters != expected.dead_letters:
        problems.append(f"{letters} dead letters, not {expected.dead_letters}")
    all_rewards = rewards(watch, finished.run_id)
    if expected.by_row is not None:
        return problems + _unlike_their_rows(all_rewards, expected.by_row)
    failed = [r for r in all_rewards if r.status is not RolloutStatus.COMPLETED]
    odd = Counter(
        str(r.failure.kind if r.failure else r.status)
        for r in failed
        if not r.failure or r.failure.kind not in expected.failures
    )
    if odd:
        problems.append(f"rollouts that ended otherwise: {dict(odd)}")
    if expected.failures and not failed:
        problems.append(f"no rollout failed; some should as {sorted(expected.failures)}")
    if not expected.failures and {r.reward for r in all_rewards} != {1.0}:
        problems.append("not all rewards are 1: a tool call was lost or applied twice")
    if any(r.reward is not None or not r.masked for r in failed):
        problems.append("a failed rollout has a reward that is not masked")
    return problems


def _unlike_their_rows(
    all_rewards: list[RewardAssigned], by_row: tuple[FailureKind | None, ...]
) -> list[str]:
    problems = []
    for reward in all_rewards:
        row = int(reward.rollout_id.split("/")[1])
        kind, wanted = reward.failure.kind if reward.failure else None, by_row[row]
        if kind is not wanted:
            problems.append(f"row {row} ended with {kind}, not {wanted}: {reward.failure}")
        if (reward.reward, reward.masked) != ((1.0, False) if wanted is None else (None, True)):
            problems.append(f"the reward of row {row} is {reward.reward} (masked: {reward.masked})")
    return problems


def judged(on: Field, finished: RunFinished, asked: list[Asked]) -> tuple[Counts, Repeats, list[str]]:
    """The counts of a finished run, and everything that is wrong with it."""
    watch, expected = on.arena.watch, on.scenario.expected
    counted = counts(watch, finished)
    repeated = repeats(asked, watch.of(on.run, "model-results"))
    allowed = len(on.scenario.strikes) if expected.repeats_each is None else expected.repeats_each
    problems = unexpected(watch, finished, expected)
    if counted.lost or counted.duplicate:
        problems.append(f"{counted.lost} lost, {counted.duplicate} duplicate")
    if repeated.answered:
        problems.append(
            f"{repeated.answered} model calls were made again after their answers were in the log"
        )
    if repeated.most > allowed:
        problems.append(
            f"a model call was made {repeated.most} times beyond the first, not {allowed} at most"
        )
    return counted, repeated, problems
