"""How searches read what the model looks for: patterns and points in time."""

import time
from collections.abc import Callable, Iterable
from datetime import datetime

import regex

from odradek_workplace_assistant.replies import Refused
from odradek_workplace_assistant.tables import Row

SECONDS = 0.5
"""What a search with the model's own pattern may take, of the processor's time: some patterns take years."""

_LONGEST_PATTERN = 1000


def containing(rows: Iterable[Row], column: str, pattern: str) -> list[Row]:
    """The records whose cell the pattern is found in.

    Raises:
        Refused: the pattern is none, or takes too long.
    """
    found = finder(pattern)
    return [row for row in rows if found(row[column])]


def finder(pattern: str) -> Callable[[str | None], bool]:
    """Whether a cell holds a regular expression, in whatever case; an empty cell holds none.

    All cells together have `SECONDS`. The matching lets other threads work.

    Raises:
        Refused: the pattern is none; or, when it is looked for, it takes too long.
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise Refused(f"What is searched for may have {_LONGEST_PATTERN} characters.")
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise Refused(f"{pattern!r} is no pattern to search for: {error}.") from error
    deadline = time.monotonic() + SECONDS

    def found(cell: str | None) -> bool:
        left = max(deadline - time.monotonic(), 0.001)
        try:
            return cell is not None and compiled.search(cell, concurrent=True, timeout=left) is not None
        except TimeoutError as error:
            raise Refused(f"Searching for {pattern!r} takes too long.") from error

    return found


def moment(text: str) -> datetime | None:
    """A point in time in ISO 8601, None where `text` is none; an office's time has no zone."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return read if read.tzinfo is None else None
