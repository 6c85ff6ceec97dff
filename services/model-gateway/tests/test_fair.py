"""Whose turn it is."""

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from odradek_model_gateway.fair import FairQueue

RUNS = st.sampled_from("ABC")


def all_of(queue: FairQueue[str]) -> list[str]:
    served = []
    while queue:
        served.append(queue.take()[1])
    return served


def test_a_small_run_is_not_behind_a_big_one() -> None:
    queue: FairQueue[str] = FairQueue()
    for ticket in range(100):
        queue.put("A", ticket, f"A{ticket}")
    assert queue.take() == (0, "A0")
    queue.put("B", 100, "B0")
    assert "B0" in all_of(queue)[:2]


def test_who_comes_again_and_again_has_one_turn_of_two() -> None:
    """Caught: a run that never had more than one call waiting went before all others each time."""
    queue: FairQueue[str] = FairQueue()
    for ticket in range(100):
        queue.put("A", ticket, "A")
    served = ["B"]
    for ticket in range(100, 180):
        if served[-1] == "B":
            queue.put("B", ticket, "B")
        served.append(queue.take()[1])
    assert served.count("A") == 40


@given(st.lists(RUNS, max_size=60))
def test_each_run_is_served_in_its_own_order_and_runs_in_turn(runs: list[str]) -> None:
    queue: FairQueue[str] = FairQueue()
    for ticket, run in enumerate(runs):
        queue.put(run, ticket, f"{run}{ticket}")
    served = all_of(queue)
    tickets, left = defaultdict(list), Counter(runs)
    for at, item in enumerate(served):
        tickets[item[0]].append(int(item[1:]))
        had = Counter(item[0] for item in served[: at + 1])
        waiting = {run for run in left if had[run] < left[run]}
        assert all(had[item[0]] - had[run] <= 1 for run in waiting), "nobody is two turns ahead"
    assert all(mine == sorted(mine) for mine in tickets.values())
    assert sum(map(len, tickets.values())) == len(runs)


@given(st.lists(RUNS, max_size=60), st.integers(1, 5))
def test_who_had_a_turn_in_vain_has_lost_nothing_by_it(runs: list[str], at_once: int) -> None:
    """However many are refused together, whoever goes on does so in the order that there would have been."""
    plain: FairQueue[str] = FairQueue()
    tried: FairQueue[str] = FairQueue()
    for ticket, run in enumerate(runs):
        plain.put(run, ticket, f"{run}{ticket}")
        tried.put(run, ticket, f"{run}{ticket}")
    taken = []
    while tried and len(taken) < at_once:
        taken.append(tried.take())
    for turn, item in taken:
        tried.put(item[0], int(item[1:]), item, turn)
    assert Counter(item[0] for item in all_of(tried)[:at_once]) == Counter(
        item[0] for item in all_of(plain)[:at_once]
    )


def test_who_goes_away_leaves_nothing() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("A", 0, "A0")
    queue.put("A", 1, "A1")
    assert queue.remove("A", 0)
    assert not queue.remove("A", 0)
    assert all_of(queue) == ["A1"]
    assert not queue.remove("B", 2)
    assert not queue
