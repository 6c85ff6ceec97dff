import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.weights import gated, least, product, weighted

SCORES = st.dictionaries(st.sampled_from(["right", "short", "kind"]), st.floats(0, 1), min_size=1)


def test_weighted():
    reward = weighted({"right": 1.0, "short": 0.5}, {"right": 3}, details={"why": "so"})
    assert reward.reward == pytest.approx(3.5 / 4)
    assert reward.components == {"right": 1.0, "short": 0.5}
    assert reward.details == {"why": "so"}


def test_penalties():
    reward = weighted({"right": 1.0, "errors": 3.0}, {"errors": -0.1}, normalized=False)
    assert reward.reward == pytest.approx(0.7)


def test_product_least_and_gates():
    scores = {"right": 0.5, "short": 0.8}
    assert product(scores).reward == pytest.approx(0.4)
    assert least(scores).reward == 0.5
    assert gated({"valid": 1.0, **scores}, ["valid"]).reward == pytest.approx(0.65)
    closed = gated({"valid": 0.0, **scores}, ["valid"])
    assert (closed.reward, closed.components) == (0.0, {"valid": 0.0, **scores})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weighted({}), "at least one"),
        (lambda: weighted({"a": 1}, {"b": 1}), "b"),
        (lambda: weighted({"a": float("nan")}), "finite"),
        (lambda: weighted({"a": 1}, {"a": float("inf")}), "finite"),
        (lambda: weighted({"a": 1}, {"a": 0}), "positive"),
        (lambda: weighted({"a": 1, "b": 1}, {"b": -1}), "normalized=False"),
        (lambda: product({"a": float("inf")}), "finite"),
        (lambda: least({}), "at least one"),
        (lambda: gated({"a": 1}, ["b"]), "no components"),
        (lambda: gated({"a": 1}, ["a"]), "at least one"),
        (lambda: gated({"a": float("nan"), "b": 1}, ["a"]), "finite"),
    ],
)
def test_what_makes_no_reward_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@given(SCORES, st.floats(0.01, 10))
def test_a_mean_lies_between_its_components(scores, weight):
    reward = weighted(scores, dict.fromkeys(list(scores)[:1], weight))
    assert min(scores.values()) - 1e-9 <= reward.reward <= max(scores.values()) + 1e-9
    assert reward.components == scores


@given(SCORES)
def test_a_product_is_no_more_than_the_least(scores):
    assert product(scores).reward <= least(scores).reward + 1e-12
