"""Pieces of calls in the order that every dialect can tell: one call whole after another, each begun once.

Chat completions may mix the pieces of several calls, repeat a call's id and name in each, and leave arguments out where
there are none; Responses and Messages can say none of that, and clients that put pieces together expect none.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import orjson

from odradek.dialects.deltas import CallDelta, Delta

NO_ARGUMENTS = "{}"


@dataclass(slots=True)
class _Call:
    id: str | None
    name: str | None
    told: str = ""
    held: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether its arguments are all there, as far as can be told: they are JSON as they stand."""
        try:
            orjson.loads(self.told)
        except orjson.JSONDecodeError:
            return False
        return True


class CallOrder:
    """Puts pieces in order. Of a call that begins before another is complete the pieces are held until that is."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._open: int | None = None
        self._waiting: list[int] = []

    def put(self, delta: Delta) -> Iterator[Delta]:
        """What can be told now, this piece or others."""
        if delta.call is not None:
            yield from self._piece(delta.call)
            delta = replace(delta, call=None)
        if delta.finish_reason is not None:
            yield from self._rest()
        if delta != _NOTHING:
            yield delta

    def _piece(self, piece: CallDelta) -> Iterator[Delta]:
        call = self._calls.get(piece.index)
        if call is None:
            call = self._calls[piece.index] = _Call(piece.id, piece.name)
            self._waiting.append(piece.index)
        call.held.append(piece.arguments)
        if self._open != piece.index and self._may_close():
            yield from self._next()
        elif self._open == piece.index:
            yield from self._told(piece.index)

    def _may_close(self) -> bool:
        return self._open is None or self._calls[self._open].complete

    def _next(self) -> Iterator[Delta]:
        """End the open call, and begin the one that has waited longest."""
        yield from self._close()
        if self._waiting:
            self._open = self._waiting.pop(0)
            call = self._calls[self._open]
            yield Delta(call=CallDelta(self._open, call.id, call.name or ""))
            yield from self._told(self._open)

    def _rest(self) -> Iterator[Delta]:
        while self._waiting:
            yield from self._next()
        yield from self._close()

    def _close(self) -> Iterator[Delta]:
        if self._open is not None and not self._calls[self._open].told:
            self._calls[self._open].held.append(NO_ARGUMENTS)
            yield from self._told(self._open)
        self._open = None

    def _told(self, index: int) -> Iterator[Delta]:
        call = self._calls[index]
        arguments, call.held = "".join(call.held), []
        call.told += arguments
        if arguments:
            yield Delta(call=CallDelta(index, arguments=arguments))


_NOTHING = Delta()
