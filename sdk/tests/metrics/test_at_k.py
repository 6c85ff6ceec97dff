"""pass@k, pass^k, avg@k and majority@k against all draws there are, and on what goes wrong elsewhere."""

from itertools import combinations, permutations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_tables import UNIT, patient, tables

from odradek.metrics import (
    Ballot,
    Missing,
    avg_at,
    majority_at,
    majority_score,
    mean,
    pass_at,
    pass_at_k,
    pass_hat,
    pass_hat_k,
    sample_counts,
)

COUNTS = st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
BALLOTS = st.builds(Ballot, UNIT, st.none() | st.sampled_from("ABC"))


@patient
@given(COUNTS)
def test_pass_at_k_and_pass_hat_k_are_the_shares_of_all_draws(case):
    samples, passed, k = case
    draws = list(combinations([True] * passed + [False] * (samples - passed), k))
    assert pass_at_k(*case) == pytest.approx(fmean(map(any, draws)))
    assert pass_hat_k(*case) == pytest.approx(fmean(map(all, draws)))


@patient
@given(COUNTS)
def test_that_all_pass_is_that_none_fails(case):
    samples, passed, k = case
    assert pass_hat_k(samples, passed, k) == pytest.approx(1 - pass_at_k(samples, samples - passed, k))


@pytest.mark.parametrize("case", [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0), (0, 0, 1)])
@pytest.mark.parametrize("figure", [pass_at_k, pass_hat_k])
def test_what_is_not_defined_is_refused(figure, case):
    with pytest.raises(ValueError, match="not defined"):
        figure(*case)


def test_large_counts_stay_exact():
    assert pass_at_k(10_000, 1, 5_000) == pytest.approx(0.5)
    assert pass_hat_k(10_000, 9_999, 5_000) == pytest.approx(0.5)


def brute(table, k, missing, per_draw):
    """The mean over tasks of the mean over all draws of k of those samples that count."""
    values = []
    for row in table.values():
        counted = [score for score in row if missing is Missing.ZERO or score is not None]
        draws = list(combinations(counted, k))
        if draws:
            values.append(fmean(per_draw(draw) for draw in draws))
    return fmean(values) if values else None


@patient
@given(tables(UNIT), st.integers(1, 5), st.sampled_from(Missing), st.sampled_from([0.0, 0.5, 1.0]))
def test_figures_at_k_of_any_table_are_those_of_all_draws(table, k, missing, threshold):
    def passes(score):
        return score is not None and score >= threshold

    for figure, of_draw in ((pass_at, any), (pass_hat, all)):
        found = figure(table, k, missing, threshold)
        expected = brute(table, k, missing, lambda draw, of_draw=of_draw: float(of_draw(map(passes, draw))))
        assert found.value == (None if expected is None else pytest.approx(expected))
        whole = sum(sum(score is not None for score in row) >= k for row in table.values())
        assert (found.planned, found.scored) == (len(table), whole)


@patient
@given(tables(UNIT), st.sampled_from(Missing))
def test_pass_at_one_is_pass_hat_one_and_average_at_one_of_shares(table, missing):
    bits = {task: [score and float(score >= 0.5) for score in row] for task, row in table.items()}
    one = pass_at(bits, 1, missing)
    assert one == pass_hat(bits, 1, missing)
    samples = len(table["0"])
    full = [avg_at(bits, samples, Missing.ZERO).value, pass_at(bits, 1, Missing.ZERO).value]
    assert full[0] == pytest.approx(full[1]) == pytest.approx(mean(bits, Missing.ZERO).value)


def test_pass_at_needs_enough_samples_and_says_for_how_many_tasks():
    table = {"a": [1.0, 0.0], "b": [0.0, 0.0], "c": [1.0, None], "d": [None, None]}
    found = pass_at(table, 2)
    assert (found.value, found.scored, found.coverage) == (0.5, 2, 0.5)
    assert pass_at(table, 1).value == pytest.approx((0.5 + 0 + 1) / 3)
    assert pass_at(table, 2, Missing.ZERO).value == pytest.approx(2 / 4)


def test_more_than_was_ever_sampled_is_nothing_and_no_error():
    for missing in Missing:
        found = pass_at({"a": [1.0], "b": [1.0]}, 2, missing)
        assert (found.value, found.scored, found.planned) == (None, 0, 2)


def test_what_passes_is_a_threshold():
    assert pass_at({"a": [0.7]}, 1, threshold=0.5).value == 1.0
    assert pass_at({"a": [0.7]}, 1).value == 0.0


def test_what_is_missing_never_passes_however_low_the_threshold():
    assert pass_at({"a": [None, -1.0]}, 2, Missing.ZERO, threshold=-0.5).value == 0.0


def test_average_at_takes_the_first_samples_that_count():
    table = {"a": [None, 1.0, 0.0, 0.0], "b": [0.0, None, 1.0, None]}
    assert avg_at(table, 2).value == 0.5
    assert avg_at(table, 2, Missing.ZERO).value == pytest.approx((0.5 + 0.0) / 2)
    assert (avg_at(table, 3).value, avg_at(table, 3).scored) == (pytest.approx(1 / 3), 1)


def test_figures_at_k_have_intervals_over_tasks():
    found = pass_at({"a": [1.0], "b": [0.0], "c": [1.0]}, 1)
    assert 0.0 < found.low < found.value < found.high < 1.0


@patient
@given(st.lists(BALLOTS, min_size=1, max_size=5))
def test_a_vote_is_the_mean_over_all_lots_of_the_answer_that_wins(ballots):
    named = [ballot for ballot in ballots if ballot.answer is not None] or ballots
    winners = []
    for order in permutations(sorted({ballot.answer for ballot in named}, key=str)):
        winner = max(order, key=lambda answer: sum(ballot.answer == answer for ballot in named))
        winners.append(fmean(ballot.score for ballot in named if ballot.answer == winner))
    assert majority_score(ballots) == pytest.approx(fmean(winners))


def test_blank_votes_never_outvote_an_answer():
    assert majority_score([Ballot(0.0, None), Ballot(0.0, None), Ballot(1.0, "A")]) == 1.0


def test_when_all_are_blank_their_scores_stand():
    blank = [Ballot(0.0, None)] * 3
    assert majority_score(blank) == 0.0
    found = majority_at({"a": blank, "b": [Ballot(1.0, "A")] * 3}, 3)
    assert (found.value, found.scored, found.planned) == (0.5, 2, 2)


def test_a_tie_is_worth_what_a_lot_would_give():
    assert majority_score([Ballot(1.0, "A"), Ballot(0.0, "B")]) == 0.5
    tie = [Ballot(1.0, "A"), Ballot(1.0, "A"), Ballot(0.0, "B"), Ballot(0.0, "B"), Ballot(0.3, "C")]
    assert majority_score(tie) == 0.5


def test_the_same_answer_with_another_score_is_the_same_answer():
    ballots = [Ballot(1.0, "A"), Ballot(0.0, "A"), Ballot(0.0, "A"), Ballot(0.0, "B"), Ballot(0.0, "B")]
    assert majority_score(ballots) == pytest.approx(1 / 3)


def test_a_vote_of_nobody_is_refused():
    with pytest.raises(ValueError, match="no samples"):
        majority_score([])


@patient
@given(st.lists(st.lists(st.none() | BALLOTS, min_size=4, max_size=4), min_size=1, max_size=5))
def test_the_vote_of_one_is_the_average_of_one(rows):
    ballots = {str(task): row for task, row in enumerate(rows)}
    scores = {task: [ballot and ballot.score for ballot in row] for task, row in ballots.items()}
    for missing in Missing:
        assert majority_at(ballots, 1, missing) == avg_at(scores, 1, missing)


def test_a_missing_rollout_is_no_voter_or_a_blank_vote_of_zero():
    ballots = {"a": [None, Ballot(0.4, None), None], "b": [Ballot(1.0, "A"), None, Ballot(1.0, "A")]}
    assert majority_at(ballots, 2).value == 1.0
    assert majority_at(ballots, 2).scored == 1
    assert majority_at(ballots, 3, Missing.ZERO).value == pytest.approx((0.4 / 3 + 1.0) / 2)


def test_the_counts_that_are_shown():
    assert [sample_counts(n) for n in (1, 2, 4, 6)] == [[1], [1, 2], [1, 2, 4], [1, 2, 4, 6]]
