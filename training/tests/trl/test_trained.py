import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_training.trl import NoPosition, last_checkpoint, position_in
from odradek_training.trl.trained import Trained


def given_groups(*sizes: int) -> Trained:
    trained = Trained()
    for number, size in enumerate(sizes, 1):
        trained.give(number, f"t{number}", size, {"after": number})
    return trained


def test_a_group_of_which_something_is_left_is_not_done() -> None:
    trained = given_groups(2, 2)
    trained.collate([1, 1, 2])
    trained.collate([2])
    assert trained.train() == ["t1"]
    assert trained.position == {"after": 1}
    assert trained.train() == ["t2"]
    assert trained.position == {"after": 2}


def test_a_group_that_was_dropped_for_its_age_is_done_with() -> None:
    trained = given_groups(2, 2)
    trained.collate([2, 2])
    assert trained.train() == ["t2"]
    assert trained.position == {"after": 2}


def test_groups_without_samples_do_not_hold_it_up() -> None:
    trained = given_groups(0, 2, 0, 2)
    trained.collate([2, 2])
    trained.collate([4, 4])
    trained.train()
    assert trained.position == {"after": 2}
    trained.train()
    assert trained.position == {"after": 4}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(1, 5), st.integers(0, 60))
def test_going_on_from_any_step_repeats_no_whole_group_and_misses_none(
    sizes: list[int], batch: int, steps: int
) -> None:
    """However samples fall into batches, and however many batches are collated ahead."""
    trained = given_groups(*sizes)
    samples = [number for number, size in enumerate(sizes, 1) for _ in range(size)]
    batches = [samples[at : at + batch] for at in range(0, len(samples), batch)]
    for numbers in batches:
        trained.collate(numbers)
    done = [task for _ in batches[:steps] for task in trained.train()]
    used = samples[: steps * batch]
    whole = [number for number, size in enumerate(sizes, 1) if used.count(number) == size]
    assert done == [f"t{number}" for number in whole]
    assert trained.position == ({"after": whole[-1]} if whole else None)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (None, "holds no position"),
        ("{", "holds no position"),
        (json.dumps({"stateful_callbacks": {}}), "given callback"),
        (
            json.dumps({"stateful_callbacks": {"OdradekStream": {"attributes": {"position": None}}}}),
            "before a group",
        ),
    ],
)
def test_a_checkpoint_without_a_position_is_told(tmp_path: Path, written: Any, why: str) -> None:
    if written is not None:
        (tmp_path / "trainer_state.json").write_text(written)
    with pytest.raises(NoPosition, match=why):
        position_in(tmp_path)


def test_the_last_checkpoint_is_one_that_was_written_to_its_end(tmp_path: Path) -> None:
    """By number, not by name; a trainer may be killed while it writes the newest."""
    assert last_checkpoint(tmp_path) is None
    for name, written in (("9", "{}"), ("10", "{}"), ("11", '{"global_'), ("12", None), ("best", "{}")):
        (tmp_path / f"checkpoint-{name}").mkdir()
        if written is not None:
            (tmp_path / f"checkpoint-{name}/trainer_state.json").write_text(written)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
