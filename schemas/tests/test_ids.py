"""Ids: deterministic, and each one tells what it lies under."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_schemas import ids

run_ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", fullmatch=True)
numbers = st.integers(0, 10**9)


@given(run=run_ids, task=numbers, sample=numbers, attempt=numbers, step=numbers)
def test_what_lies_below_a_rollout_leads_back_to_it(
    run: str, task: int, sample: int, attempt: int, step: int
) -> None:
    rollout = ids.rollout_id(ids.check_run_id(run), task, sample)
    for below in (rollout, ids.session_id(rollout, attempt), ids.call_id(rollout, attempt, step)):
        assert ids.rollout_of(below) == rollout
        assert ids.run_of(below) == run


@given(a=st.tuples(run_ids, numbers, numbers), b=st.tuples(run_ids, numbers, numbers))
def test_different_rollouts_have_different_ids(a: tuple[str, int, int], b: tuple[str, int, int]) -> None:
    assert (ids.rollout_id(*a) == ids.rollout_id(*b)) == (a == b)


def test_shapes() -> None:
    assert ids.task_id("r", 2) == "r/2"
    assert ids.rollout_id("r", 2, 1) == "r/2/1"
    assert ids.session_id("r/2/1", 3) == "r/2/1/3"
    assert ids.call_id("r/2/1", 3, 4) == "r/2/1/3/4"


@pytest.mark.parametrize("run_id", ["", "a/b", "-a", ".a", "a b", "ä", "a" * 101, "a\n"])
def test_ids_that_could_not_stand_in_others_are_refused(run_id: str) -> None:
    with pytest.raises(ValueError, match="run id"):
        ids.check_run_id(run_id)


@pytest.mark.parametrize("run_id", ["a", "0", "mcqa-1129-194512-x7", "A.b_c", "a" * 100])
def test_good_ids_are_returned(run_id: str) -> None:
    assert ids.check_run_id(run_id) == run_id


def test_a_judge_s_call_tells_for_which_scoring_it_was_asked() -> None:
    asked = ids.judge_call_id(ids.judging_id("run/0/1", "again"), 2, 3)
    assert ids.scoring_of(asked) == ids.scoring_of(f"{asked}/completed") == "again"
    assert ids.scoring_of(ids.call_id("run/0/1", 1, 4)) is None
