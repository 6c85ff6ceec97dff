"""Which rewards a stream is about, how ranks share them, and how many rollouts a rank asks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_schemas.codec import Envelope
from odradek_training import Deployment, PositionDiffers, RewardStream
from odradek_training.demand import Demand
from odradek_training.position import Position, read_position
from odradek_training.selection import Selection


def envelope(rollout_id: str | None = "r/0/1", run_id: str = "r", **more: str | None) -> Envelope:
    given = {
        "type": "RewardAssigned",
        "id": "i",
        "scoring": "primary",
        "dataref": None,
        "traceparent": None,
    } | more
    return Envelope(run_id=run_id, rollout_id=rollout_id, **given)


def test_what_is_not_wanted_is_known_by_its_headers() -> None:
    selection = Selection(runs=("r",))
    assert selection.may_want(envelope())
    assert not selection.may_want(envelope(run_id="other"))
    assert not selection.may_want(envelope(scoring="again"))
    assert not selection.may_want(envelope(type="RunFinished"))
    assert not selection.may_want(envelope(rollout_id=None))
    assert Selection(runs=("r",), scoring="again").may_want(envelope(scoring="again"))


@given(st.integers(1, 7), st.text("rn-0", min_size=1, max_size=8), st.integers(0, 500))
def test_every_task_is_one_ranks(ranks: int, run_id: str, task: int) -> None:
    owners = [Selection(runs=("r",), rank=r, ranks=ranks).owns(f"{run_id}/{task}") for r in range(ranks)]
    assert owners.count(True) == 1


@given(
    st.integers(1, 5), st.integers(1, 8), st.lists(st.integers(1, 40), min_size=1, max_size=10).map(sorted)
)
def test_a_ranks_demand_covers_its_next_tasks_and_no_more(ranks: int, size: int, groups: list[int]) -> None:
    selection = Selection(runs=("r",), rank=ranks - 1, ranks=ranks)
    demand = Demand("r", size, selection)
    for wanted in groups:
        tasks, rest = divmod(demand.of(wanted), size)
        assert rest == 0
        assert sum(selection.owns(f"r/{task}") for task in range(tasks)) == wanted
        assert selection.owns(f"r/{tasks - 1}")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, "name what to read"),
        ({"run": "r", "rank": 2, "ranks": 2}, "counted from 0"),
        ({"run": "r", "incomplete": "maybe"}, "incomplete"),
        ({"run": "r", "incomplete": "wait", "group_deadline": 3}, "no group_deadline"),
        ({"run": "r", "group_deadline": 0}, "group_deadline"),
        ({"run": "r", "ahead": 0}, "ahead"),
        ({"run": "r", "max_staleness": -1}, "max_staleness"),
    ],
)
def test_parameters_that_can_not_be_are_named(parameters: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        RewardStream(Deployment("nowhere:1"), **parameters)  # type: ignore[arg-type]


def test_a_position_is_of_the_stream_that_it_was_taken_from() -> None:
    selection = Selection(runs=("r",), rank=0, ranks=2)
    value = Position(selection=selection, offsets={0: 7}, done={"r/1": 2}).dump()
    assert read_position(value, selection).offsets == {0: 7}
    with pytest.raises(PositionDiffers, match="rank 0, this one has 1"):
        read_position(value, Selection(runs=("r",), rank=1, ranks=2))
    with pytest.raises(PositionDiffers, match="offsets"):
        read_position(value | {"offsets": "all"}, selection)
