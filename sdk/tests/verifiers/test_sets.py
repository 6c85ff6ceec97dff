from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.sequences import lines_ratio, ratio
from odradek.verifiers.sets import multiset_overlap, overlap

ITEMS = st.lists(st.integers(0, 6), max_size=8)


@pytest.mark.parametrize(
    ("found", "expected", "precision", "recall", "f1"),
    [
        ([1, 2], [1, 2], 1, 1, 1),
        ([1, 2, 3, 4], [1, 2], 0.5, 1, 2 / 3),
        ([1], [1, 2], 1, 0.5, 2 / 3),
        ([3], [1, 2], 0, 0, 0),
        ([], [], 1, 1, 1),
        ([], [1], 0, 0, 0),
        ([1], [], 0, 0, 0),
        ([1, 1, 1], [1], 1, 1, 1),
    ],
)
def test_overlap(found, expected, precision, recall, f1):
    result = overlap(found, expected)
    assert (result.precision, result.recall) == (precision, recall)
    assert result.f1 == pytest.approx(f1)


def test_multisets_count_repeats():
    result = multiset_overlap([1, 1, 1, 2], [1, 1, 3])
    assert (result.common, result.found, result.expected) == (2, 4, 3)


@given(ITEMS, ITEMS)
def test_against_the_definitions(found, expected):
    result = overlap(found, expected)
    ours, theirs = set(found), set(expected)
    if ours and theirs:
        assert result.precision == len(ours & theirs) / len(ours)
        assert result.recall == len(ours & theirs) / len(theirs)
    both = result.precision + result.recall
    assert result.f1 == pytest.approx(2 * result.precision * result.recall / both if both else 0)
    assert (result.f1 == 1) == (ours == theirs)


@given(ITEMS, ITEMS)
def test_multisets_are_equal_when_f1_is_one(found, expected):
    assert (multiset_overlap(found, expected).f1 == 1) == (Counter(found) == Counter(expected))


def test_ratio():
    assert ratio("abcd", "bcde") == 0.75
    assert ratio(["a", "b"], ["a", "b"]) == 1.0
    assert ratio("", "") == 1.0
    assert ratio("abc", "") == 0.0


def test_often_used_letters_are_no_junk():
    assert ratio("a" * 500, "a" * 500 + "b") > 0.99


def test_lines_ratio():
    assert lines_ratio("a\n  b\nc\n", "a\nb\nd") == pytest.approx(2 / 3)


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_ratio_is_one_for_equals_alone(found, expected):
    assert 0 <= ratio(found, expected) <= 1
    assert (ratio(found, expected) == 1) == (found == expected)
