"""Whose turn it is."""

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.fair import FairQueue

RUNS = st.sampled_from("ABC")


def test_a_small_run_is_not_behind_a_big_one() -> None:
    queue: FairQueue[str] = FairQueue()
    for ticket in range(100):
        queue.put("A", ticket, f"A{ticket}")
    assert queue.take() == "A0"
    queue.put("B", 100, "B0")
    assert "B0" in {queue.take(), queue.take()}


@given(st.lists(RUNS, max_size=60))
def test_each_run_is_served_in_its_own_order_and_runs_in_turn(runs: list[str]) -> None:
    queue: FairQueue[tuple[str, int]] = FairQueue()
    for ticket, run in enumerate(runs):
        queue.put(run, ticket, (run, ticket))
    served = [queue.take() for _ in range(len(queue))]
    assert not queue
    tickets = defaultdict(list)
    for run, ticket in served:
        tickets[run].append(ticket)
    assert all(mine == sorted(mine) for mine in tickets.values())
    for at in range(1, len(served)):
        left = {run for run, _ in served[at:]}
        if left - {served[at - 1][0]}:
            assert served[at][0] != served[at - 1][0], "nobody has two turns while another waits"


def test_who_had_a_turn_in_vain_is_next_again() -> None:
    queue: FairQueue[str] = FairQueue()
    for ticket, item in enumerate(["A0", "A1", "B0"]):
        queue.put(item[0], ticket, item)
    assert queue.take() == "A0"
    queue.put_back("A", 0, "A0")
    assert [queue.take() for _ in range(3)] == ["A0", "B0", "A1"]


def test_who_goes_away_leaves_nothing() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("A", 0, "A0")
    queue.put("A", 1, "A1")
    assert queue.remove("A", 0)
    assert not queue.remove("A", 0)
    assert len(queue) == 1
    assert queue.take() == "A1"
    assert not queue.remove("B", 2)
    assert not queue
