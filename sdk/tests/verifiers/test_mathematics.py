import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.verifiers import libraries
from odradek.verifiers.mathematics import (
    NotMainThread,
    UnreadableAnswer,
    compare,
    without_delimiters,
)

POWERS = (
    r"\boxed{\dfrac{(1+\sqrt{3})^{4033}-(1-\sqrt{3})^{4033}}{2^{2017}\sqrt{3}}}",
    r"\(\frac{(3-\sqrt{3})(2-\sqrt{3})^{2016}+(3+\sqrt{3})(2+\sqrt{3})^{2016}}{6}\)",
)


@pytest.mark.parametrize(
    ("text", "expected", "equal"),
    [
        (r"so \boxed{\frac{1}{2}}", "0.5", True),
        (r"\boxed{2x + x^2}", r"x(x+2)", True),
        (r"\boxed{\sqrt{8}}", r"$2\sqrt{2}$", True),
        ("The answer is 32.", "32", True),
        (r"\boxed{1.4142136}", r"\sqrt{2}", True),
        (r"\boxed{1.4142}", r"\sqrt{2}", False),
        (r"\boxed{\{3, 1\}}", r"\{1, 3\}", True),
        (r"\boxed{[2, \infty)}", r"x \geq 2", True),
        (r"\boxed{5} and \boxed{6}", r"\{5, 6\}", True),
        (r"\boxed{5} no, \boxed{6}", "6", False),
        (r"\boxed{-3}", "3", False),
        ("no idea", "3", False),
        ("", "3", False),
        (*POWERS, True),
    ],
)
def test_compare(text, expected, equal):
    assert compare(text, expected).equal is equal


def test_great_powers_that_are_not_equal():
    assert not compare(POWERS[0].replace("4033", "4035"), POWERS[1], seconds=0.3).equal


def test_what_was_read_is_told():
    assert compare(r"\boxed{\frac{4}{6}}", "1").extracted == "2/3"
    assert compare("no idea", "1").extracted is None


@pytest.mark.parametrize("text", [r"\boxed{9^{9^{9^{9}}}}", r"\boxed{10^{100000000}!}"])
def test_what_takes_too_long_is_not_equal(text):
    result = compare(text, "1", seconds=0.3)
    assert (result.equal, result.timed_out) == (False, True)


@pytest.mark.parametrize("expected", ["", r"\boxed{", "$$"])
def test_an_expected_answer_that_can_not_be_read_is_no_wrong_reply(expected):
    with pytest.raises(UnreadableAnswer):
        compare(r"\boxed{1}", expected)


def test_an_expected_answer_that_takes_too_long_is_no_wrong_reply():
    long = "+".join(rf"\frac{{{n}}}{{{n + 1}}}" for n in range(1, 60))
    with pytest.raises(UnreadableAnswer, match=r"in 0\.01 s"):
        compare(r"\boxed{1}", long, seconds=0.01)


def test_other_threads_are_told_why_not():
    raised = []

    def run():
        try:
            compare(r"\boxed{1}", "1")
        except NotMainThread as error:
            raised.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "main thread" in raised[0]


def test_a_library_that_is_not_there_is_named():
    with pytest.raises(libraries.MissingLibrary, match=r"odradek\[math\]"):
        libraries.needed("no_such_module", "math")


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (r"\(x\)", "x"),
        (r" \[ x \] ", "x"),
        ("$x$", "x"),
        ("$$x$$", "x"),
        ("$x$ or $y$", "$x$ or $y$"),
        ("x", "x"),
        ("$", "$"),
        ("$$", "$$"),
        ("", ""),
    ],
)
def test_without_delimiters(text, bare):
    assert without_delimiters(text) == bare


@settings(deadline=None, max_examples=30)
@given(st.integers(-999, 999), st.integers(1, 99), st.integers(2, 9))
def test_a_fraction_equals_its_multiples(over, under, factor):
    text = rf"\boxed{{\frac{{{over * factor}}}{{{under * factor}}}}}"
    assert compare(text, rf"\frac{{{over}}}{{{under}}}").equal
    assert not compare(text, rf"\frac{{{over + 1}}}{{{under}}}").equal


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet="0123456789x+-*/^{}()\\ frac\\sqrt$.,=", max_size=25))
def test_any_text_compares(text):
    result = compare(text, "12345", seconds=1.0)
    assert not (result.equal and result.timed_out)
