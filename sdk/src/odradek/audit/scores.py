"""The reward against the trajectory that it was given for."""

from collections.abc import Iterator

from odradek.audit.facts import Ending, Rollout, Score
from odradek.audit.findings import Invariant, Violation, violation
from odradek.audit.letters import Letters

_UNPLAYED = ("failed", "cancelled")


def check_score(rollout: Rollout, score: Score, letters: Letters) -> Iterator[Violation]:
    yield from _check_mask(score)
    ending = next((ending for ending in rollout.endings if ending.place == score.trajectory), None)
    if ending is not None:
        if score.trajectory not in letters:
            yield from _check_told(score, ending)
    elif score.trajectory not in letters:
        elsewhere = [ending.place for ending in rollout.endings]
        what = f"the reward points at {score.trajectory}, where no trajectory of this rollout is"
        expected = elsewhere[0] if elsewhere else "a trajectory"
        places = [score.place, *elsewhere]
        yield violation(Invariant.PROVENANCE, what, places, expected, score.trajectory)


def _check_mask(score: Score) -> Iterator[Violation]:
    if score.null != score.masked:
        what = "null but not masked" if score.null else "masked but not null"
        yield violation(Invariant.MASKING, f"the reward is {what}", [score.place])
    if score.status in _UNPLAYED and not score.masked:
        what = f"the rollout {score.status}, and its reward is not masked"
        yield violation(Invariant.MASKING, what, [score.place])
    if score.masked and score.failure is None:
        yield violation(Invariant.MASKING, "the reward is masked without a failure", [score.place])
    if not score.masked and score.failure is not None:
        what = f"the reward has a failure ({score.failure[0]}) and is not masked"
        yield violation(Invariant.MASKING, what, [score.place])


def _check_told(score: Score, ending: Ending) -> Iterator[Violation]:
    places = [score.place, ending.place]
    if score.told != ending.told:
        what = "the reward tells status, model, group, turns, attempt, usage or times otherwise than its trajectory"
        yield violation(Invariant.PROVENANCE, what, places)
    if ending.status in _UNPLAYED and score.failure != ending.failure:
        what = "the reward names another failure than its trajectory"
        kinds = [failure and failure[0] for failure in (ending.failure, score.failure)]
        yield violation(Invariant.PROVENANCE, what, places, *kinds)
