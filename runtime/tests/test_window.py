"""What may be committed, whatever order records finish in and wherever a worker dies."""

from hypothesis import given
from hypothesis import strategies as st

from odradek_runtime.positions import Position, parse_position
from odradek_runtime.window import Window

# A log is the offsets of its records: markers leave gaps.
logs = st.sets(st.integers(0, 80), max_size=40).map(sorted)


@given(logs, st.data())
def test_every_record_is_finished_exactly_once_through_any_restarts(
    log: list[int], data: st.DataObject
) -> None:
    committed = Position(0)
    finished: list[int] = []
    for _life in range(data.draw(st.integers(1, 4))):
        window = Window(committed)
        fetched = log[: data.draw(st.integers(0, len(log)))]
        handed_out = [offset for offset in fetched if window.admits(offset)]
        for offset in handed_out:
            window.hand_out(offset)
        done = data.draw(st.lists(st.sampled_from(handed_out), unique=True)) if handed_out else []
        for offset in done:
            window.finish(offset)
        if data.draw(st.booleans()):  # else it dies before the commit, and what it did is done again
            committed = parse_position(*window.commit())
            finished += done
    last = Window(committed)
    assert sorted(finished + [offset for offset in log if last.admits(offset)]) == log


def test_the_position_is_behind_the_highest_record_handed_out() -> None:
    window = Window(Position(0))
    for offset in (0, 3, 9):
        window.hand_out(offset)
    window.finish(3)
    offset, metadata = window.commit()
    assert parse_position(offset, metadata) == Position(10, (0, 9))


def test_markers_at_the_end_are_passed() -> None:
    window = Window(Position(0))
    window.hand_out(4)
    window.finish(4)
    window.pass_over(7)
    assert window.commit() == (7, "")
    window.pass_over(5)  # never back
    assert window.commit() == (7, "")


def test_what_was_unfinished_stays_so_until_it_is_read_again() -> None:
    window = Window(Position(10, (2, 5)))
    assert window.in_flight == 2
    assert [offset for offset in range(12) if window.admits(offset)] == [2, 5, 10, 11]
    window.hand_out(10)
    window.finish(10)
    assert parse_position(*window.commit()) == Position(11, (2, 5))
