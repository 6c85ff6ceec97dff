import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.texts import Normal, exact, normalized

FORMS = st.builds(Normal, *[st.booleans() for _ in range(5)])


@pytest.mark.parametrize(
    ("text", "expected", "equal"),
    [
        ("Paris", "Paris", True),
        ("Paris", "paris", False),
        ("Paris ", "Paris", False),
        ("Paris", ["Rome", "Paris"], True),
        ("Paris", [], False),
        ("", "", True),
    ],
)
def test_exact(text, expected, equal):
    assert exact(text, expected) is equal


@pytest.mark.parametrize(
    ("text", "expected", "equal"),
    [
        ("  PARIS\n", "paris", True),
        ("New\u00a0 York", "new york", True),
        ("Ｐａｒｉｓ", "Paris", True),
        ("Straße", "STRASSE", True),
        ("Paris.", "Paris", False),
        ("Rome", ["Paris", " rome"], True),
    ],
)
def test_normalized(text, expected, equal):
    assert normalized(text, expected) is equal


def test_what_does_not_count_can_be_chosen():
    assert Normal(punctuation=True, articles=True).equal("The U.S.A.!", "usa")
    assert not Normal(case=False).equal("Paris", "paris")
    assert not Normal(space=False).equal("a  b", "a b")
    assert not Normal(unicode=False).equal("Ａ", "A")


def test_within():
    assert Normal().within("It is PARIS, I think", "paris")
    assert not Normal().within("It is Rome", "paris")
    assert not Normal(punctuation=True).within("anything", "?!")


@given(st.text(), FORMS)
def test_a_normal_form_is_its_own(text, form):
    assert form.of(form.of(text)) == form.of(text)


@given(st.text(), st.text(), FORMS)
def test_equality_is_that_of_the_forms_and_symmetrical(text, other, form):
    assert form.equal(text, text)
    assert form.equal(text, other) == form.equal(other, text) == (form.of(text) == form.of(other))
    if form.of(other):
        assert form.within(text + other, other) or not form.equal(text, "")


@given(st.text(), st.text())
def test_what_is_exact_is_normalized(text, other):
    assert normalized(text, text)
    if exact(text, other):
        assert normalized(text, other)
