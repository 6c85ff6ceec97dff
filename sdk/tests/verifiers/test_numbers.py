from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.numbers import close, last_number, read_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("42", 42),
        (" -3.50 ", Fraction(-7, 2)),
        ("−3", -3),
        ("+7", 7),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("1,234,567.8", Fraction(12345678, 10)),
        ("1e3", 1000),
        ("2.5E-2", Fraction(1, 40)),
        ("3/4", Fraction(3, 4)),
        ("-3 / 4", Fraction(-3, 4)),
        ("12.5%", Fraction(1, 8)),
        (r"50\%", Fraction(1, 2)),
        ("$1,000", 1000),
        ("$12$", 12),
        (r"\frac{1}{3}", Fraction(1, 3)),
        (r"-\dfrac{-1}{3}", Fraction(1, 3)),
        ("1/0", None),
        (r"\frac{1}{0}", None),
        ("", None),
        ("abc", None),
        ("12 apples", None),
        ("1,23", None),
        ("1.2.3", None),
        ("9" * 2000, None),
    ],
)
def test_read_number(text, number):
    assert read_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("first 3, then 4.", 4),
        ("The total is $1,250.50.", Fraction(125050, 100)),
        ("x2 = y3", None),
        ("it grew by 5 % in 2020", 2020),
        ("from 3-4", 4),
        ("none at all", None),
        ("7 of 1/0", 7),
    ],
)
def test_last_number(text, number):
    assert last_number(text) == number


def test_close():
    assert close(Fraction(3, 10), read_number("0.3"))
    assert not close(0.1 + 0.2, Fraction(3, 10))
    assert close(0.1 + 0.2, Fraction(3, 10), relative=1e-9)
    assert close(101, 100, relative=0.01)
    assert not close(100, 101.1, relative=0.01)
    assert close(100.4, 100, absolute=0.5)
    assert close(0, 0, relative=0.1)


@pytest.mark.parametrize("bad", [{"relative": -1}, {"absolute": float("nan")}, {"relative": float("inf")}])
def test_tolerances_are_checked(bad):
    with pytest.raises(ValueError, match="tolerances"):
        close(1, 1, **bad)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_must_be_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        close(bad, 1)


@given(st.fractions(max_denominator=10**6))
def test_fractions_are_read_back(number):
    assert read_number(f"{number.numerator}/{number.denominator}") == number
    assert last_number(f"I get {number.numerator}/{number.denominator}, so") == number


@given(st.integers(-(10**12), 10**12))
def test_grouped_integers_are_read_back(number):
    assert read_number(f"{number:,}") == number


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9))
def test_decimals_are_read_exactly(number):
    assert read_number(str(number)) == Fraction(number)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1), st.floats(0, 10))
def test_each_number_is_close_to_itself(number, relative, absolute):
    assert close(number, number, relative, absolute)


@given(st.text())
def test_any_text_is_read_or_not(text):
    number = read_number(text)
    assert number is None or last_number(text) == number or "$" in text
