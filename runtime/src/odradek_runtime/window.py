"""Which records of one topic partition are in flight, and what may be committed (pure)."""

from odradek_runtime.positions import Position, format_unfinished


class Window:
    """Offsets handed out and not yet committed as finished.

    Offsets are handed out in ascending order, but not without gaps: transaction markers take offsets too, so nothing
    here counts `offset + 1` to find the next record.
    """

    def __init__(self, position: Position) -> None:
        self._again = position
        self._position = position.offset
        self._unfinished: dict[int, None] = dict.fromkeys(position.unfinished)

    @property
    def in_flight(self) -> int:
        return len(self._unfinished)

    @property
    def position(self) -> int:
        """The first offset never handed out."""
        return self._position

    def admits(self, offset: int) -> bool:
        """Whether the record at `offset` is still to be handed out."""
        return not self._again.skips(offset)

    def hand_out(self, offset: int) -> None:
        self._unfinished[offset] = None
        self._position = max(self._position, offset + 1)

    def finish(self, offset: int) -> None:
        """The outputs of `offset` go into the next commit."""
        del self._unfinished[offset]

    def pass_over(self, position: int) -> None:
        """Nothing was left to read below `position` (markers end the log)."""
        self._position = max(self._position, position)

    def commit(self) -> tuple[int, str]:
        """The offset and metadata to commit."""
        return self._position, format_unfinished(self._position, self._unfinished)
