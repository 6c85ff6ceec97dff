import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek_task_producer.admission import fair_shares, room


@pytest.mark.parametrize(
    ("planned", "demand", "admitted", "finished", "concurrency", "expected"),
    [
        (100, None, 0, 0, 8, 8),
        (100, None, 8, 3, 8, 3),
        (100, None, 98, 98, 8, 2),
        (100, 10, 8, 8, 8, 2),
        (100, 0, 0, 0, 8, 0),
        (5, 10, 0, 0, 8, 5),
        (100, 10, 20, 20, 8, 0),
        (100, None, 20, 0, 8, 0),
    ],
)
def test_room_is_within_plan_demand_and_concurrency(
    planned: int, demand: int | None, admitted: int, finished: int, concurrency: int, expected: int
) -> None:
    assert room(planned, demand, admitted, finished, concurrency) == expected


@given(st.lists(st.integers(1, 400), max_size=12), st.integers(0, 300))
def test_shares_spend_the_budget_fairly(rooms: list[int], budget: int) -> None:
    shares = fair_shares(rooms, budget)
    assert sum(shares) == min(budget, sum(rooms))
    assert all(0 <= share <= room for share, room in zip(shares, rooms, strict=True))
    held_back = [share for share, room in zip(shares, rooms, strict=True) if share < room]
    if held_back:  # nobody who wants more has less than the others, but for what does not divide
        assert min(held_back) >= max(shares) - 1
