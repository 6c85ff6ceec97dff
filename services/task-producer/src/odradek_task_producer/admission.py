"""How many rollouts may be admitted (pure)."""

from collections.abc import Sequence


def room(planned: int, demand: int | None, admitted: int, finished: int, concurrency: int) -> int:
    """How many more rollouts of a run may go out now: within the plan, the demand and the concurrency."""
    wanted = planned if demand is None else min(planned, demand)
    return max(0, min(wanted - admitted, concurrency - (admitted - finished)))


def fair_shares(rooms: Sequence[int], budget: int) -> list[int]:
    """Divide `budget` rollouts among runs that have `rooms` for so many.

    Nobody gets more than its room; what one run leaves goes to the others; shares differ only where room does
    (by one, where the budget does not divide).
    """
    shares = [0] * len(rooms)
    smallest_first = sorted(range(len(rooms)), key=rooms.__getitem__)
    for served, index in enumerate(smallest_first):
        equal_part = -(-budget // (len(rooms) - served))
        shares[index] = min(rooms[index], equal_part)
        budget -= shares[index]
    return shares
