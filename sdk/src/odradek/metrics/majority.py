"""majority@k: the score of the answer that most of a task's `k` samples gave."""

from collections.abc import Sequence
from statistics import fmean

from odradek.metrics.figures import Figure, estimate
from odradek.metrics.plan import Ballot, Ballots, Missing


def majority_score(ballots: Sequence[Ballot]) -> float:
    """The score that a vote gives; equal answers that got different scores have the mean of them.

    A tie is broken by lot, and the value is the expected one: the mean over the answers that tie. A null answer is a
    blank vote: it never wins against an answer, and where all are blank their mean score stands. So the vote of one
    is that one's score.

    Source: Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (2022).

    Raises:
        ValueError: nobody voted.
    """
    if not ballots:
        raise ValueError("the vote of no samples is not defined")
    scores: dict[str, list[float]] = {}
    for ballot in ballots:
        if ballot.answer is not None:
            scores.setdefault(ballot.answer, []).append(ballot.score)
    if not scores:
        return fmean(ballot.score for ballot in ballots)
    most = max(map(len, scores.values()))
    return fmean(fmean(given) for given in scores.values() if len(given) == most)


def majority_at(ballots: Ballots, k: int, missing: Missing = Missing.EXCLUDE) -> Figure:
    """majority@k of each task's first `k` samples that count, over the tasks that have them.

    With `zero`, a missing rollout is a blank vote that scores 0.
    """
    rows = (_filled(row, missing) for row in ballots.values())
    values = [majority_score(row[:k]) for row in rows if len(row) >= k]
    scored = sum(len(row) - row.count(None) >= k for row in ballots.values())
    return estimate([[one] for one in values], len(ballots), scored, missing)


def _filled(row: Sequence[Ballot | None], missing: Missing) -> list[Ballot]:
    if missing is Missing.ZERO:
        return [Ballot(0.0, None) if ballot is None else ballot for ballot in row]
    return [ballot for ballot in row if ballot is not None]
