import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek import FunctionCall
from odradek.verifiers.calls import Arguments, Wanted, in_any_order, in_order, pairs, read_arguments
from odradek.verifiers.texts import Normal


def made(name, arguments):
    return FunctionCall(
        name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments)
    )


BOOK = Wanted("book", {"city": "Rome", "nights": 2})


@pytest.mark.parametrize(
    ("call", "matches"),
    [
        (made("book", {"nights": 2, "city": "Rome"}), True),
        (made("book", '{"city":"Rome","nights":2.0}'), True),
        (made("book", {"city": "rome", "nights": 2}), False),
        (made("book", {"city": "Rome"}), False),
        (made("book", {"city": "Rome", "nights": 2, "pets": 0}), False),
        (made("cancel", {"city": "Rome", "nights": 2}), False),
        (made("book", '{"city": "Rome", "nights": 2'), False),
        (made("book", '["Rome", 2]'), False),
        (made("book", ""), False),
    ],
)
def test_one_call(call, matches):
    assert in_order([call], [BOOK]) is matches


def test_arguments_can_be_compared_otherwise():
    how = Arguments(ignoring=["note"], comparing={"city": Normal().equal}, defaults={"nights": 2})
    assert in_order([made("book", {"city": " ROME", "note": "x"})], [BOOK], how)
    assert not in_order([made("book", {"city": "Paris"})], [BOOK], how)
    assert not in_order([made("book", {"nights": 2})], [BOOK], how)


def test_order_and_number():
    one, two = made("a", {}), made("b", {})
    wanted = [Wanted("a"), Wanted("b")]
    assert in_order([one, two], wanted)
    assert not in_order([two, one], wanted)
    assert in_any_order([two, one], wanted)
    assert not in_any_order([one, one], wanted)
    assert not in_any_order([one, two, two], wanted)
    assert in_order([], [])


def test_no_arguments_may_be_written_as_nothing():
    assert read_arguments(made("a", " ")) == {}


def test_the_most_pairs_are_found():
    """A greedy pairing would give the call that does for both to the first."""
    how = Arguments(comparing={"n": lambda ours, theirs: ours in theirs})
    wanted = [Wanted("a", {"n": [1, 2]}), Wanted("a", {"n": [1]})]
    found = pairs([made("a", {"n": 1}), made("a", {"n": 2})], wanted, how)
    assert (found.common, found.recall, found.precision) == (2, 1.0, 1.0)


CALLS = st.lists(
    st.builds(made, st.sampled_from("ab"), st.fixed_dictionaries({"n": st.integers(0, 2)})), max_size=5
)


def as_wanted(call):
    return Wanted(call.name, json.loads(call.arguments))


@given(CALLS, st.randoms())
def test_calls_match_themselves_in_any_order(calls, random):
    wanted = [as_wanted(call) for call in calls]
    assert in_order(calls, wanted)
    assert in_any_order(random.sample(calls, len(calls)), wanted)


@given(CALLS, CALLS)
def test_in_any_order_is_in_some_order(calls, others):
    wanted = [as_wanted(call) for call in others]
    assert in_any_order(calls, wanted) == any(in_order(order, wanted) for order in permutations(calls))


@given(CALLS, CALLS)
def test_pairs_are_those_of_the_multisets(calls, others):
    keys = [[(call.name, call.arguments) for call in made] for made in (calls, others)]
    common = sum(min(keys[0].count(key), keys[1].count(key)) for key in set(keys[0]))
    assert pairs(calls, [as_wanted(call) for call in others]).common == common


@given(st.text())
def test_any_text_is_an_object_or_none(text):
    arguments = read_arguments(made("a", text))
    assert arguments is None or isinstance(arguments, dict)
