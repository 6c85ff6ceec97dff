"""Two runs against each other: scipy and statsmodels say the same, and books do."""

from itertools import product
from math import factorial
from statistics import fmean

import numpy
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import BITS, UNIT, patient, tables
from statsmodels.stats.contingency_tables import mcnemar as reference
from statsmodels.stats.proportion import proportion_confint

from odradek.metrics import Missing, Test, bootstrap, compare, mcnemar, newcombe


def shares(*values):
    return {str(task): [value] for task, value in enumerate(values)}


@patient
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_p_is_that_of_statsmodels(gained, lost):
    table = [[7, lost], [gained, 5]]
    assert mcnemar(gained, lost) == pytest.approx(reference(table, exact=True).pvalue)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404)],
)
def test_newcombes_interval_is_the_published_one(cells, low, high):
    assert newcombe(*cells) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@patient
@given(*[st.integers(0, 30)] * 3, st.integers(1, 30))
def test_newcombes_interval_turns_with_the_sides(both, gained, lost, neither):
    low, high = newcombe(both, gained, lost, neither)
    turned = newcombe(both, lost, gained, neither)
    assert turned == (pytest.approx(-high), pytest.approx(-low))
    assert -1 <= low <= (gained - lost) / (both + gained + lost + neither) <= high <= 1


@patient
@given(*[st.integers(0, 30)] * 3, st.integers(1, 30))
def test_newcombes_interval_is_that_of_the_paper_with_statsmodels_wilson(both, gained, lost, neither):
    n = both + gained + lost + neither
    p, q = (both + gained) / n, (both + lost) / n
    (p_low, p_high), (q_low, q_high) = (
        proportion_confint(count, n, method="wilson") for count in (both + gained, both + lost)
    )
    product = both * neither - gained * lost
    corrected = product if product < 0 else 0 if product <= n / 2 else product - n / 2
    margins = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    phi = corrected / margins**0.5 if margins else 0.0

    def half(one, other):
        return max(0.0, one**2 - 2 * phi * one * other + other**2) ** 0.5

    expected = p - q - half(p - p_low, q_high - q), p - q + half(q - q_low, p_high - p)
    assert newcombe(both, gained, lost, neither) == pytest.approx(expected, abs=1e-7)


def test_newcombes_interval_holds_the_difference_as_often_as_it_says():
    """All tables of 20 tasks, weighed by their chance: near 95 % hold the true difference."""
    size, chances = 20, (0.5, 0.2, 0.1, 0.2)
    held = 0.0
    for both, gained, lost in product(range(size + 1), repeat=3):
        neither = size - both - gained - lost
        if neither < 0:
            continue
        ways = factorial(size) / (factorial(both) * factorial(gained) * factorial(lost) * factorial(neither))
        chance = ways * chances[0] ** both * chances[1] ** gained * chances[2] ** lost * chances[3] ** neither
        low, high = newcombe(both, gained, lost, neither)
        held += chance * (low <= chances[1] - chances[2] <= high)
    assert 0.93 < held < 0.98


def test_an_interval_of_no_pairs_is_refused():
    with pytest.raises(ValueError, match="no pairs"):
        newcombe(0, 0, 0, 0)


def test_the_bootstraps_interval_is_that_of_scipy():
    chance = numpy.random.default_rng(3)
    differences = list(chance.normal(0.2, 1.0, 60))
    low, high, p = bootstrap(differences, seed=1)
    expected = scipy.stats.bootstrap(
        (differences,), numpy.mean, method="percentile", n_resamples=10_000, random_state=1
    ).confidence_interval
    assert (low, high) == (pytest.approx(expected.low, abs=0.02), pytest.approx(expected.high, abs=0.02))
    assert p == pytest.approx(scipy.stats.ttest_1samp(differences, 0).pvalue, abs=0.03)


def test_the_same_seed_is_the_same_bootstrap():
    differences = [0.1, -0.3, 0.5, 0.2, 0.0]
    assert bootstrap(differences, seed=4) == bootstrap(differences, seed=4)
    assert bootstrap(differences, seed=4, resamples=50) != bootstrap(differences, seed=5, resamples=50)


def test_single_samples_of_zero_and_one_are_compared_by_mcnemar():
    a, b = shares(1, 1, 0, 0, 0, 0, 0, 0), shares(1, 0, 1, 1, 1, 1, 1, 0)
    found = compare(a, b)
    assert found.test is Test.MCNEMAR
    assert found.difference == pytest.approx(4 / 8)
    assert found.p_value == mcnemar(5, 1)
    assert (found.low, found.high) == newcombe(1, 5, 1, 1)
    assert [pair.task for pair in found.gained] == ["2", "3", "4", "5", "6"]
    assert [pair.task for pair in found.lost] == ["1"]


@pytest.mark.parametrize("a", [{"x": [0.5], "y": [1.0]}, {"x": [1.0, 0.0], "y": [0.0, 0.0]}])
def test_repeats_and_scores_between_are_compared_by_the_bootstrap(a):
    found = compare(a, {task: [1.0] * len(row) for task, row in a.items()})
    assert found.test is Test.BOOTSTRAP
    assert found.low <= found.difference <= found.high


def pairs(values):
    return tables(values, tasks=5, samples=2).flatmap(
        lambda a: st.tuples(
            st.just(a),
            st.fixed_dictionaries({task: st.lists(st.none() | values, max_size=2) for task in a}),
        )
    )


@settings(patient, max_examples=25)
@given(st.one_of(pairs(BITS), pairs(UNIT)), st.sampled_from(Missing))
def test_a_comparison_is_the_difference_of_task_means_and_turns_with_its_sides(case, missing):
    a, b = case
    found, turned = compare(a, b, missing), compare(b, a, missing)

    def mean(row):
        known = [score or 0.0 for score in row if score is not None or missing is Missing.ZERO]
        return fmean(known) if known else None

    means = {task: (mean(a[task]), mean(b[task])) for task in a}
    expected = {task: pair for task, pair in means.items() if None not in pair}
    assert {pair.task: (pair.a, pair.b) for pair in found.pairs} == expected
    if expected:
        assert found.difference == pytest.approx(found.b.value - found.a.value)
        assert turned.difference == pytest.approx(-found.difference)
    assert {pair.task for pair in found.gained} == {pair.task for pair in turned.lost}
    if found.test is Test.MCNEMAR:
        assert (turned.low, turned.high) == (pytest.approx(-found.high), pytest.approx(-found.low))
        assert turned.p_value == found.p_value


def test_tasks_that_one_side_did_not_score_are_out_or_zero_and_told():
    a, b = {"x": [1.0], "y": [1.0], "z": [0.0]}, {"x": [1.0], "y": [None], "z": [1.0], "more": [1.0]}
    found, zero = compare(a, b), compare(a, b, Missing.ZERO)
    assert ([pair.task for pair in found.pairs], found.planned) == (["x", "z"], 3)
    assert found.coverage == pytest.approx(2 / 3) == zero.coverage
    assert (found.difference, zero.difference) == (0.5, 0.0)


def test_a_run_against_itself_has_no_difference_and_no_doubt_of_it():
    a = {str(task): [float(task % 2), 0.5] for task in range(6)}
    found = compare(a, a)
    assert (found.difference, found.p_value, found.gained, found.lost) == (0.0, 1.0, [], [])


def test_one_task_or_none_has_no_interval():
    one = compare({"x": [1.0]}, {"x": [0.0]})
    assert (one.difference, one.low, one.p_value, one.test) == (-1.0, None, None, None)
    none = compare({"x": [None]}, {"x": [0.0]})
    assert (none.difference, none.a.value, none.coverage) == (None, None, 0.0)
    assert compare({}, {}).coverage == 0.0


def test_a_task_flips_when_half_its_samples_come_to_pass():
    found = compare({"x": [0.0, 0.0], "y": [1.0, 0.0]}, {"x": [1.0, 0.0], "y": [0.0, 0.0]})
    assert ([p.task for p in found.gained], [p.task for p in found.lost]) == (["x"], ["y"])
