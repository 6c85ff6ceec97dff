"""Pieces of calls, however they come: told one call whole after another, and nothing lost."""

from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from odradek.dialects.deltas import CallDelta, Delta
from odradek.dialects.ordering import CallOrder

ARGUMENTS = ['{"x": 1}', '{"city": "Bern", "days": [1, 2]}', "{}", "", "no JSON", '{"a": "}"}']


@st.composite
def mixed(draw: Any) -> tuple[list[str], list[Delta]]:
    """The arguments of some calls, and their pieces: each call's in order, the calls among each other in any."""
    texts = draw(st.lists(st.sampled_from(ARGUMENTS), min_size=1, max_size=4))
    left = []
    for index, text in enumerate(texts):
        cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
        parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        named = draw(st.booleans())
        left.append([(index, part, n == 0 or named) for n, part in enumerate(parts)])
    deltas = []
    while any(left):
        index = draw(st.sampled_from([i for i, pieces in enumerate(left) if pieces]))
        number, part, named = left[index].pop(0)
        name = (f"c{number}", f"tool{number}") if named else (None, None)
        deltas.append(Delta(call=CallDelta(number, *name, part)))
    return texts, [*deltas, Delta(finish_reason="tool_calls")]


@given(mixed())
def test_each_call_is_told_whole_and_begun_once(given: tuple[list[str], list[Delta]]) -> None:
    texts, deltas = given
    order = CallOrder()
    told = [out for delta in deltas for out in order.put(delta)]
    assert told[-1] == Delta(finish_reason="tool_calls")
    pieces = [delta.call for delta in told[:-1] if delta.call is not None]
    runs = [(index, list(group)) for index, group in groupby(pieces, key=lambda piece: piece.index)]
    assert sorted(index for index, _ in runs) == list(range(len(texts)))
    for index, run in runs:
        assert [(piece.id, piece.name) for piece in run if piece.id] == [(f"c{index}", f"tool{index}")]
        assert run[0].id is not None
        assert "".join(piece.arguments for piece in run) == (texts[index] or "{}")


def test_what_is_in_order_is_told_at_once() -> None:
    order = CallOrder()
    pieces = [CallDelta(0, "a", "one"), CallDelta(0, arguments='{"x"'), CallDelta(0, arguments=":1}")]
    assert [[d.call for d in order.put(Delta(call=piece))] for piece in pieces] == [
        [CallDelta(0, "a", "one")],
        [CallDelta(0, arguments='{"x"')],
        [CallDelta(0, arguments=":1}")],
    ]
    assert [d.call for d in order.put(Delta(call=CallDelta(1, "b", "two")))] == [CallDelta(1, "b", "two")]
    assert list(order.put(Delta(text="Hm."))) == [Delta(text="Hm.")]
    assert list(order.put(Delta(call=CallDelta(2, "c", "three")))) == [], (
        "the one before may still have arguments"
    )
    last = [d.call for d in order.put(Delta(finish_reason="stop"))]
    empty = [CallDelta(1, arguments="{}"), CallDelta(2, "c", "three"), CallDelta(2, arguments="{}")]
    assert last == [*empty, None]
