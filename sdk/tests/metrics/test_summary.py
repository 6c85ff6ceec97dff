"""A run summed up from its rewards."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from score_tables import patient

from odradek.metrics import Missing, Plan, groups, percentiles, summarize

PLAN = Plan.of_run("r", planned=8, samples=2)


def test_a_plan_names_its_tasks_by_number():
    assert PLAN.tasks == ["r/0", "r/1", "r/2", "r/3"]
    assert (PLAN.samples, PLAN.rollouts) == (2, 8)


def test_masked_rollouts_and_those_that_never_came_are_in_no_mean(reward):
    rewards = [reward(0, 0, 1.0), reward(0, 1, None), reward(1, 0, 0.0), reward(1, 1, 0.0)]
    found = summarize(PLAN.place(rewards))
    assert found.mean.value == pytest.approx(1 / 3)
    assert (found.planned, found.tasks, found.finished, found.masked) == (8, 4, 4, 1)
    assert (found.mean.scored, found.mean.coverage) == (3, 3 / 8)
    zero = summarize(PLAN.place(rewards), Missing.ZERO)
    assert (zero.mean.value, zero.missing) == (1 / 8, Missing.ZERO)
    assert (zero.pass_at[2].value, zero.pass_at[2].scored) == (1 / 4, 1)


def test_samples_keep_their_order_whenever_they_came(reward):
    plan = Plan.of_run("r", planned=3, samples=3)
    rewards = [reward(0, 2, 0.2), reward(0, 0, 0.0), reward(0, 1, 0.1)]
    assert plan.place(rewards).scores == {"r/0": [0.0, 0.1, 0.2]}


def test_tasks_may_have_other_numbers_of_samples(reward):
    plan = Plan({"r/0": 3, "r/1": 1})
    found = summarize(plan.place([reward(0, 0, 0.0), reward(0, 2, 1.0), reward(1, 0, 1.0)]))
    assert (found.planned, found.mean.value, list(found.pass_at)) == (4, pytest.approx(2 / 3), [1, 2, 3])
    assert (found.pass_at[2].value, found.pass_at[2].scored, found.pass_at[3].value) == (1.0, 1, None)
    zero = summarize(plan.place([reward(0, 2, 1.0)]), Missing.ZERO)
    assert (zero.pass_at[3].value, zero.pass_at[3].planned) == (1.0, 2)


@pytest.mark.parametrize(
    ("rewards", "what"),
    [
        ([(4, 0, 1.0)], "r/4/0 is not planned"),
        ([(0, 2, 1.0)], "r/0/2 is not planned"),
        ([(0, 0, 1.0), (0, 0, 1.0)], "of one scoring"),
        ([(0, 0, float("nan"))], "no finite number"),
    ],
)
def test_rewards_that_do_not_fit_the_plan_are_refused(reward, rewards, what):
    with pytest.raises(ValueError, match=what):
        PLAN.place(reward(*one) for one in rewards)


def test_a_run_without_a_score_has_no_mean(reward):
    found = summarize(Plan.of_run("r", 4, 1).place([reward(0, 0, None)]))
    assert (found.mean.value, found.mean.low, found.mean.coverage) == (None, None, 0.0)
    assert (found.pass_at[1].value, found.components) == (None, {})
    assert summarize(Plan.of_run("r", 0, 1).place([])).mean.coverage == 0.0


def test_one_rollout_is_a_figure_without_an_interval(reward):
    found = summarize(Plan.of_run("r", 1, 1).place([reward(0, 0, 0.4, style=0.5)]), threshold=0.3)
    assert (found.mean.value, found.mean.low) == (0.4, None)
    assert (found.pass_at[1].value, found.pass_hat[1].value, found.avg_at[1].value) == (1.0, 1.0, 0.4)
    assert found.components["style"].value == 0.5


def test_components_are_averaged_where_they_are(reward):
    plan = Plan.of_run("r", 3, 3)
    rewards = [reward(0, 0, 1.0, style=1.0), reward(0, 1, 0.0, style=0.0, length=3.0), reward(0, 2, None)]
    found = summarize(plan.place(rewards)).components
    assert {name: (one.value, one.scored) for name, one in found.items()} == {
        "length": (3.0, 1),
        "style": (0.5, 2),
    }
    zero = summarize(plan.place(rewards), Missing.ZERO).components
    assert (zero["length"].value, zero["style"].value) == (pytest.approx(1.0), pytest.approx(1 / 3))


def test_answers_are_voted_on_where_rewards_name_them(reward):
    plan = Plan.of_run("r", 6, 3)
    answers = [["B", " B", "C"], [None, "", None]]
    rewards = [
        reward(task, sample, float(task == 0 and sample < 2), details={"extracted_answer": answer})
        for task, row in enumerate(answers)
        for sample, answer in enumerate(row)
    ]
    found = summarize(plan.place(rewards))
    assert {k: one.value for k, one in found.majority_at.items()} == {1: 0.5, 2: 0.5, 3: 0.5}
    assert found.majority_at[3].scored == 2
    assert summarize(plan.place(rewards), answer="chose").majority_at == {}


def test_an_empty_answer_is_a_null_one(reward):
    plan = Plan.of_run("r", 3, 3)
    rewards = [
        reward(0, s, float(answer == "A"), details={"extracted_answer": answer})
        for s, answer in enumerate(["", " ", "A"])
    ]
    assert summarize(plan.place(rewards)).majority_at[3].value == 1.0


def test_a_null_answer_counts_with_its_score_in_every_figure(reward):
    plan = Plan.of_run("r", 4, 2)
    rewards = [reward(t, s, 0.0, details={"extracted_answer": None}) for t in (0, 1) for s in (0, 1)]
    for missing in Missing:
        found = summarize(plan.place(rewards), missing)
        for figures in (found.pass_at, found.pass_hat, found.avg_at, found.majority_at):
            assert [(one.value, one.coverage) for one in figures.values()] == [(0.0, 1.0)] * 2
        assert (found.mean.value, found.mean.coverage) == (0.0, 1.0)


def test_answers_that_are_no_text_are_voted_on_as_json(reward):
    plan = Plan.of_run("r", 3, 3)
    answers = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, [1]]
    rewards = [
        reward(0, s, float(s < 2), details={"extracted_answer": answer}) for s, answer in enumerate(answers)
    ]
    assert summarize(plan.place(rewards)).majority_at[3].value == 1.0


def test_groups_are_tasks_that_share_a_field(reward):
    fields = {
        "r/0": {"level": 2, "tags": ["a"]},
        "r/1": {"level": 1, "meta": {"kind": "x"}},
        "r/2": {"level": 2},
    }
    assert groups(PLAN.tasks, fields, "level") == {"1": ["r/1"], "2": ["r/0", "r/2"], None: ["r/3"]}
    assert groups(PLAN.tasks, fields, "meta.kind") == {"x": ["r/1"], None: ["r/0", "r/2", "r/3"]}
    assert groups(PLAN.tasks, fields, "tags.0")["a"] == ["r/0"]
    placed = PLAN.place([reward(0, 0, 1.0), reward(1, 0, 0.0), reward(2, 1, 0.5)])
    part = summarize(placed.part(["r/0", "r/2"]))
    assert (part.planned, part.mean.value, part.mean.scored) == (4, 0.75, 2)


def test_what_rollouts_took_is_told_where_it_is_known(reward):
    plan = Plan.of_run("r", 4, 1)
    rewards = [
        reward(0, 0, 1.0, tokens=10, seconds=2.0, cost=0.25),
        reward(1, 0, None, tokens=30, seconds=4.0),
        reward(2, 0, None, tokens=0, seconds=0.0, attempt=0),
    ]
    found = summarize(plan.place(rewards)).spent
    assert (found["tokens"].known, found["tokens"].planned) == (2, 4)
    assert (found["tokens"].p50, found["tokens"].most, found["tokens"].total) == (10, 30, 40)
    assert (found["seconds"].mean, found["seconds"].p95) == (3.0, 4.0)
    assert (found["cost"].known, found["cost"].total, found["cost"].p99) == (1, 0.25, 0.25)


@patient
@given(st.lists(st.none() | st.floats(-1e6, 1e6), max_size=40))
def test_percentiles_are_numpys_of_the_values_that_occurred(values):
    found = percentiles(values, planned=50)
    known = [value for value in values if value is not None]
    assert (found.planned, found.known) == (50, len(known))
    if not known:
        assert (found.p50, found.mean, found.most) == (None, None, None)
        return
    expected = numpy.percentile(known, [50, 90, 95, 99], method="inverted_cdf")
    assert [found.p50, found.p90, found.p95, found.p99] == list(expected)
    assert found.most == max(known)
