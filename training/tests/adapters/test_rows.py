"""What counts, and where it is cut."""

import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_lab import Makes

from odradek_schemas.rollouts import TrainingSample
from odradek_training import Group, PolicyUnordered
from odradek_training.adapters.rows import rollouts, rows, stretches
from odradek_training.adapters.taking import GroupsEnded, take

MAKES = Makes()
SAMPLES = st.lists(st.booleans(), min_size=1, max_size=12).map(
    lambda mask: TrainingSample(
        token_ids=list(range(len(mask))),
        loss_mask=[int(chosen) for chosen in mask],
        logprobs=[-0.5 * chosen for chosen in mask],
    )
)
TOLD = st.lists(
    st.tuples(st.none() | st.floats(-1, 1), st.lists(SAMPLES, max_size=3)), min_size=1, max_size=6
)


@given(TOLD)
def test_masked_rollouts_and_those_without_tokens_are_no_rows(told: Any) -> None:
    rewards = [
        MAKES.reward(0, number, score, samples=samples) for number, (score, samples) in enumerate(told)
    ]
    group = Group("r", "r/0", len(rewards), tuple(rewards))
    counting = {
        number
        for number, (score, samples) in enumerate(told)
        if score is not None and any(any(sample.loss_mask) for sample in samples)
    }
    assert [found[0].reward.sample for found in rollouts(group)] == sorted(counting)
    assert [row.reward.sample for row in rows(group)] == sorted(counting)
    for row in (row for found in rollouts(group) for row in found):
        assert row.prompt + row.response == row.sample.token_ids
        assert len(row.response) == len(row.mask) == len(row.logprobs) > 0
        assert row.mask[0] == 1
        assert row.score == told[row.reward.sample][0]


@given(SAMPLES)
def test_stretches_are_the_sequence_cut_between_the_model_and_the_others(sample: TrainingSample) -> None:
    if not any(sample.loss_mask):
        return
    (row,) = rows(Group("r", "r/0", 1, (MAKES.reward(0, 0, samples=[sample]),)))
    found = stretches(row)
    assert [token for _, where in found for token in sample.token_ids[where]] == sample.token_ids
    assert all(set(sample.loss_mask[where]) == {int(chosen)} for chosen, where in found)
    assert all(one[0] != other[0] for one, other in pairwise(found))


def test_of_several_sequences_the_one_in_which_most_was_chosen_is_the_row(group_of: Any, makes: Any) -> None:
    (row,) = rows(group_of(0, (1.0, [makes.tokens(1, 2), makes.tokens(1, 3, 4), makes.tokens(1, 5)])))
    assert row.response == [3, 4]


def test_advantages_are_the_groups(group_of: Any, makes: Any) -> None:
    group = group_of(0, (1.0, [makes.tokens(1, 2)]), (0.0, [makes.tokens(1, 3)]))
    assert [row.advantage for row in rows(group)] == group.advantages()


def test_policies_are_those_that_chose(group_of: Any, makes: Any, turns: TrainingSample) -> None:
    told = group_of(0, (1.0, [turns]), (1.0, [makes.tokens(1, 2)]), (1.0, [makes.tokens(1, 2, policy="new")]))
    several, none, odd = rows(told)
    assert (several.policies, none.policies) == ((6, 7), (0, 0))
    with pytest.raises(PolicyUnordered, match="'new'"):
        _ = odd.policies


def test_groups_that_are_not_whole_are_passed_over_and_others_wanted(
    stream_of: Any, group_of: Any, makes: Any
) -> None:
    tokens = [makes.tokens(1, 2)]
    groups = [
        group_of(0, (1.0, tokens), (1.0, tokens)),
        group_of(1, (1.0, tokens), (None, tokens)),
        group_of(2, (1.0, tokens), (1.0, [])),
        group_of(3, (1.0, tokens), (0.0, tokens)),
    ]
    stream = stream_of(groups)
    taken = take(stream, 2, 2)
    assert [found[0][0].group for found in taken] == ["r:r/0", "r:r/3"]
    assert stream.wanted == [2, 1, 1, 1]


def test_a_stream_that_ends_says_why_groups_were_passed_over(
    stream_of: Any, group_of: Any, makes: Any
) -> None:
    with pytest.raises(GroupsEnded, match=r"its runs are over; begin another run with more tasks$"):
        take(stream_of([]), 1, 2)
    with pytest.raises(GroupsEnded, match=r"1 groups were passed over, .* return token ids"):
        take(stream_of([group_of(0, (1.0, []), (1.0, [makes.tokens(1, 2)]))]), 1, 2)


def test_a_run_of_groups_of_another_size_is_refused(stream_of: Any, group_of: Any, makes: Any) -> None:
    tokens = [makes.tokens(1, 2)]
    with pytest.raises(ValueError, match=r"run r plays 3 rollouts of each task.* --samples 2"):
        take(stream_of([group_of(0, (1.0, tokens), (1.0, tokens), (0.0, tokens))]), 1, 2)


@pytest.mark.parametrize("name", ["verl", "skyrl", "prime_rl", "nemo_rl"])
def test_no_trainer_is_imported_with_its_adapter(name: str) -> None:
    heavy = "{'torch', 'numpy', 'verl', 'skyrl', 'verifiers', 'nemo_rl', 'ray', 'transformers'}"
    code = f"import sys, odradek_training.adapters.{name}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
