import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from odradek_runtime.positions import (
    MAX_IN_FLIGHT,
    MAX_METADATA,
    Position,
    PositionError,
    format_restore_point,
    format_unfinished,
    parse_position,
)

offsets = st.integers(0, 2**62)


@given(st.sets(offsets, max_size=50), st.integers(1, 1000))
def test_unfinished_offsets_survive_the_round_trip(unfinished: set[int], ahead: int) -> None:
    position = max(unfinished, default=0) + ahead
    parsed = parse_position(position, format_unfinished(position, unfinished))
    assert parsed == Position(position, tuple(sorted(unfinished)))


@given(offsets, offsets)
def test_a_restore_point_survives_the_round_trip(offset: int, point: int) -> None:
    assert parse_position(offset, format_restore_point(point)) == Position(offset, restore_point=point)


@given(st.lists(st.integers(1, 2**21 - 1), min_size=1, max_size=9))
@example([2**21 - 1])
def test_as_many_as_may_be_in_flight_always_fit(gaps: list[int]) -> None:
    unfinished, offset = [], 0
    for index in range(MAX_IN_FLIGHT):
        unfinished.append(offset)
        offset += gaps[index % len(gaps)]
    metadata = format_unfinished(offset, unfinished)
    assert len(metadata) <= MAX_METADATA
    assert parse_position(offset, metadata).unfinished == tuple(unfinished)


def test_more_than_the_broker_allows_is_refused() -> None:
    fits = range(0, 2 * 3069, 2)  # 3,069 bytes: 4,092 characters of base64, and `u:`
    assert len(format_unfinished(2 * 3069, fits)) == 4094
    with pytest.raises(PositionError, match=r"4098 characters .* allows 4096"):
        format_unfinished(2 * 3070, range(0, 2 * 3070, 2))


def test_nothing_unfinished_is_no_metadata() -> None:
    assert format_unfinished(7, []) == ""
    assert parse_position(7, "") == Position(7)


@pytest.mark.parametrize("metadata", ["hello", "x:1", "r:", "r:one", "u:***", "u:gA==", "u:AAA", ":"])
def test_metadata_that_is_not_ours_is_named(metadata: str) -> None:
    with pytest.raises(PositionError, match="offset 12: metadata"):
        parse_position(12, metadata)


@given(st.text(max_size=40))
def test_any_metadata_is_read_or_refused(metadata: str) -> None:
    with contextlib.suppress(PositionError):
        parse_position(100, metadata)


@given(st.sets(st.integers(0, 60)), st.integers(0, 60))
def test_skips_what_was_finished_and_nothing_else(unfinished: set[int], ahead: int) -> None:
    position = Position(max(unfinished, default=-1) + 1 + ahead, tuple(sorted(unfinished)))
    skipped = {offset for offset in range(200) if position.skips(offset)}
    assert skipped == set(range(position.offset)) - unfinished
    assert all(position.skips(offset) for offset in range(position.lowest))
    assert not position.skips(position.lowest)
