"""The mean, its standard error and its interval, against statsmodels and by their properties."""

import math
from itertools import chain

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from score_tables import UNIT, patient, tables
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from odradek.metrics import Missing, mean, wilson

Z = 1.959963984540054


def regression(clusters):
    """The mean and its clustered error as a regression on nothing but a constant has them."""
    values = numpy.array(list(chain.from_iterable(clusters)))
    numbers = numpy.repeat(numpy.arange(len(clusters)), [len(cluster) for cluster in clusters])
    model = OLS(values, numpy.ones(len(values)))
    found = model.fit(cov_type="cluster", cov_kwds={"groups": numbers})
    return found.params[0], found.bse[0]


@patient
@given(st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=5), min_size=2, max_size=8))
def test_the_error_is_that_of_a_regression_clustered_by_task(clusters):
    found = mean({str(task): scores for task, scores in enumerate(clusters)})
    value, error = regression(clusters)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.error == pytest.approx(error, abs=1e-7)


@patient
@given(tables(st.floats(-5, 5)))
def test_a_mean_is_over_what_has_a_score_and_coverage_tells_how_much_that_is(table):
    every = [score for row in table.values() for score in row]
    known = [score for score in every if score is not None]
    found, zero = mean(table), mean(table, Missing.ZERO)
    assert (found.planned, found.scored) == (len(every), len(known))
    assert found.coverage == pytest.approx(len(known) / len(every))
    assert found.value == (pytest.approx(sum(known) / len(known)) if known else None)
    assert zero.value == pytest.approx(sum(known) / len(every))
    assert (zero.scored, zero.missing) == (len(known), Missing.ZERO)


@patient
@given(tables(st.floats(-5, 5)))
def test_zero_is_as_if_each_missing_rollout_had_scored_zero(table):
    filled = {task: [score or 0.0 for score in row] for task, row in table.items()}
    zero, whole = mean(table, Missing.ZERO), mean(filled)
    assert (zero.value, zero.error, zero.low, zero.high) == (
        whole.value,
        whole.error,
        whole.low,
        whole.high,
    )


def test_scores_beyond_a_share_have_the_plain_interval():
    values = [0.0, 2.0, 1.0, -1.0, 1.0]
    found = mean({str(i): [value] for i, value in enumerate(values)})
    deviation = math.sqrt(sum((v - 0.6) ** 2 for v in values) / 4)
    assert found.error == pytest.approx(deviation / math.sqrt(5))
    assert found.high - found.value == pytest.approx(Z * found.error)
    assert found.value - found.low == pytest.approx(Z * found.error)


@patient
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_is_that_of_statsmodels(counts):
    passed, size = counts
    assert wilson(passed / size, size, Z) == pytest.approx(
        proportion_confint(passed, size, method="wilson"), abs=1e-12
    )


def test_a_share_of_single_samples_has_wilsons_interval():
    found = mean({str(i): [value] for i, value in enumerate([0.0, 1.0, 1.0, 0.0, 1.0])})
    assert (found.low, found.high) == pytest.approx(wilson(0.6, 4, Z))


@patient
@given(st.lists(st.lists(UNIT, min_size=1, max_size=4), min_size=2, max_size=12))
def test_an_interval_of_shares_is_one_of_shares(clusters):
    found = mean({str(task): scores for task, scores in enumerate(clusters)})
    assert 0.0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1.0


def test_when_all_pass_the_interval_still_has_a_width_that_shrinks_with_the_tasks():
    few, many = (mean({str(i): [1.0] * 3 for i in range(tasks)}) for tasks in (3, 30))
    assert few.low < many.low < many.high == 1.0


def test_tasks_that_are_all_alike_have_an_interval_in_spite_of_rounding():
    found = mean({str(i): [0.1 + i / 1e17, 0.3, 0.2] for i in range(10)})
    assert found.high - found.low > 0.1


@patient
@given(st.lists(UNIT, min_size=2, max_size=8), st.integers(2, 5))
def test_samples_that_agree_within_a_task_count_as_one(values, copies):
    alone = mean({str(i): [value] for i, value in enumerate(values)})
    assume(alone.error > 1e-6)
    copied = mean({str(i): [value] * copies for i, value in enumerate(values)})
    assert (copied.low, copied.high) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_one_task_or_one_rollout_has_no_interval():
    for row in ([1.0, 0.0], [0.5]):
        found = mean({"a": row})
        assert (found.value, found.error, found.low, found.high) == (0.5, None, None, None)


def test_nothing_scored_is_no_zero_unless_it_was_asked_for():
    table = {"a": [None, None], "b": [None, None]}
    found, zero = mean(table), mean(table, Missing.ZERO)
    assert (found.value, found.low, found.coverage) == (None, None, 0.0)
    assert (zero.value, zero.coverage) == (0.0, 0.0)
    assert mean({}).coverage == 0.0


def test_a_task_with_every_rollout_failed_is_out_or_zero_by_the_policy():
    table = {"a": [1.0, 1.0], "b": [None, None]}
    assert (mean(table).value, mean(table).coverage) == (1.0, 0.5)
    assert mean(table, Missing.ZERO).value == 0.5


def test_more_confidence_is_a_wider_interval():
    table = {"a": [1.0], "b": [0.0], "c": [1.0]}
    assert mean(table, confidence=0.99).low < mean(table, confidence=0.9).low
