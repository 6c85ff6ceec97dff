import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.states import Comparison, Difference

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


def differences(actual, expected, **how):
    return list(Comparison(**how).differences(actual, expected))


def test_where_and_why():
    actual = {"mails": [{"to": "Ann", "read": True}], "extra": 1}
    expected = {"mails": [{"to": "Bob", "read": True}, {"to": "Eve"}], "none": None}
    assert differences(actual, expected) == [
        Difference("mails.0.to", "different", "Bob", "Ann"),
        Difference("mails.1", "missing", expected={"to": "Eve"}),
        Difference("none", "missing"),
        Difference("extra", "unexpected", actual=1),
    ]


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ("1", 1, False),
        ([], {}, False),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (float("nan"), 1.0, False),
        (float("inf"), 1.0, False),
    ],
)
def test_equality_is_that_of_json(actual, expected, equal):
    assert Comparison().equal(actual, expected) is equal


def test_what_does_not_count():
    actual = {"id": 1, "rows": [{"id": 5, "name": "a"}], "log": ["x"]}
    expected = {"id": 2, "rows": [{"id": 6, "name": "a"}]}
    assert Comparison(ignoring=["id", "*.id", "log"]).equal(actual, expected)
    assert not Comparison(ignoring=["id", "log"]).equal(actual, expected)


def test_order_that_does_not_count():
    actual = {"rows": [{"n": 1}, {"n": 2}, {"n": 2}], "steps": [1, 2]}
    assert Comparison(unordered=["rows"]).equal(
        actual, {"rows": [{"n": 2}, {"n": 1}, {"n": 2}], "steps": [1, 2]}
    )
    assert not Comparison(unordered=["rows"]).equal(
        actual, {"rows": [{"n": 1}, {"n": 1}, {"n": 2}], "steps": [1, 2]}
    )
    assert not Comparison(unordered=["rows"]).equal(actual, actual | {"steps": [2, 1]})


def test_unordered_lists_of_other_lengths():
    assert [d.reason for d in differences([1, 2], [2], unordered=[""])] == ["unexpected"]
    assert [d.reason for d in differences([2], [1, 2], unordered=[""])] == ["missing"]


def test_tolerance():
    assert Comparison(relative=0.01).equal({"price": 100.5}, {"price": 100})
    assert not Comparison(relative=0.001).equal({"price": 100.5}, {"price": 100})


@given(VALUES)
def test_each_state_equals_itself(state):
    assert Comparison().equal(state, state)
    assert Comparison(unordered=["*"]).equal(state, state)


@given(VALUES, VALUES)
def test_equality_is_symmetrical(one, other):
    assert Comparison().equal(one, other) == Comparison().equal(other, one)


@given(st.lists(VALUES, max_size=5), st.randoms())
def test_any_order_does_where_order_does_not_count(items, random):
    shuffled = random.sample(items, len(items))
    assert Comparison(unordered=[""]).equal(shuffled, items)


@given(VALUES, VALUES)
def test_ignoring_everything_leaves_no_difference(one, other):
    assert Comparison(ignoring=["*"]).equal(one, other)
