"""A re-score's pieces grow while they are quick, and shrink when they are not."""

from odradek_verifier_worker.rescores import FIRST_RECORDS, PIECE_SECONDS, Pace
from odradek_verifier_worker.trajectories import MOST_RECORDS


def test_quick_pieces_grow_up_to_the_bound() -> None:
    pace = Pace()
    assert pace.records == FIRST_RECORDS
    for _ in range(20):
        pace.took(PIECE_SECONDS / 2)
    assert pace.records == MOST_RECORDS


def test_slow_pieces_shrink_down_to_one_trajectory() -> None:
    pace = Pace()
    pace.took(PIECE_SECONDS * 2)
    assert pace.records == FIRST_RECORDS
    for _ in range(20):
        pace.took(PIECE_SECONDS * 100)
    assert pace.records == 1
