import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.squad import exact_match, f1, normal_form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("a cat, an owl and the dog", "cat owl and dog"),
        ("U.S.A.", "usa"),
        ("theatre", "theatre"),
        ("  Two\nlines ", "two lines"),
        ("the", ""),
    ],
)
def test_normal_form(text, form):
    assert normal_form(text) == form


@pytest.mark.parametrize(
    ("text", "answers", "em", "score"),
    [
        ("the Eiffel Tower.", ["Eiffel Tower"], 1.0, 1.0),
        ("Eiffel", ["Eiffel Tower"], 0.0, 2 / 3),
        ("in Paris, France", ["Lyon", "Paris"], 0.0, 0.5),
        ("a a b", ["b b"], 0.0, 2 / 3),
        ("Rome", ["Paris"], 0.0, 0.0),
        ("", [], 1.0, 1.0),
        ("", ["Paris"], 0.0, 0.0),
        ("Paris", [], 0.0, 0.0),
        ("the", ["Paris", "a"], 0.0, 0.0),
    ],
)
def test_scores(text, answers, em, score):
    assert exact_match(text, answers) == em
    assert f1(text, answers) == pytest.approx(score)


WORDS = st.lists(st.sampled_from(["red", "blue", "the", "Dog", "cat.", "a"]), max_size=6).map(" ".join)


@given(WORDS, st.lists(WORDS, max_size=3))
def test_f1_is_a_score_that_exact_matches_reach(text, answers):
    assert 0.0 <= f1(text, answers) <= 1.0
    if exact_match(text, answers):
        assert f1(text, answers) == 1.0


@given(WORDS, WORDS)
def test_f1_is_symmetrical(text, answer):
    assert f1(text, [answer]) == pytest.approx(f1(answer, [text]))


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), WORDS)
def test_more_accepted_answers_never_lower_a_score(text, answers, more):
    kept = [answer for answer in answers if normal_form(answer)]
    if kept:
        assert f1(text, [*kept, more]) >= f1(text, kept)
