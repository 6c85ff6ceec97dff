"""When an output is the expected one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.programs.comparing import outputs_match, values_match


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("1 2\n3\n", "1 2\n3"),
        ("1 2\n3", "\n  1 2  \n3\n\n"),
        ("1 2", "1   2"),
        ("1 2", "1 2.0"),
        ("0.333333333333", "0.333333"),
        ("1000000.0", "1000000.5"),
        ("1e-7", "0.0000001"),
        ("1.0 3.0 3.5", "1.0000001 2.9999999 3.5"),
        ("Yes\nNO", "yes\nno"),
        ("", "  \n"),
        ("abc", "abc"),
    ],
)
def test_outputs_that_match(expected, output):
    assert outputs_match(expected, output)


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("1\n2", "1 2"),
        ("1\n\n2", "1\n2"),
        ("1", ""),
        ("50000000000000000", "50000000000000001"),
        ("41", "42"),
        ("1000000", "1000001"),
        ("0.333333333333", "0.334"),
        ("1.0", "1.0 2.0"),
        ("1.0", "inf"),
        ("1.0", "nan"),
        ("nan", "NaN"),
        ("1.0", "sNaN"),
        ("1.0", "1e999999999999999999"),
        ("Alice", "alice"),
        ("Yes 1", "YES 1"),
        ("x 1.0", "x 1.00"),
    ],
)
def test_outputs_that_do_not(expected, output):
    assert not outputs_match(expected, output)


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=4).map("\n".join)


@given(LINES)
def test_any_output_matches_itself(text):
    assert outputs_match(text, text)


@given(LINES, LINES)
def test_any_two_outputs_can_be_compared(one, other):
    assert outputs_match(one, other) in (True, False)


@given(st.integers(), st.integers())
def test_whole_numbers_match_only_themselves(one, other):
    assert outputs_match(str(one), str(other)) == (one == other)
    assert values_match(one, other) == (one == other)
    assert values_match([one], [other]) == (one == other)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ([0.1, 0.2], [0.1000000001, 0.2]),
        (0.1, 0.1000000001),
        (1.0, True),
        (2, 2.0),
        ("0.5", 0.5),
        ([[1]], [[1]]),
    ],
)
def test_values_that_match(expected, value):
    assert values_match(expected, value)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ([0.1, 0.2], [0.5, 0.2]),
        ([0.1, 0.2], [0.1, 0.2, 0.3]),
        (True, 0.9999999999),
        (1.0, False),
        (None, 0.0),
        ("a", 0.5),
        ("0.5", "0.50"),
        ([[0.1]], [[0.1000000001]]),
        ({"a": 0.1}, {"a": 0.1000000001}),
        (1.0, 10**400),
        (float("inf"), 1.0),
    ],
)
def test_values_that_do_not(expected, value):
    assert not values_match(expected, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_any_value_matches_itself_and_any_two_can_be_compared(one, other):
    assert values_match(one, json.loads(json.dumps(one)))
    assert values_match(one, other) in (True, False)
