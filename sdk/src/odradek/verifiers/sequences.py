"""How alike two sequences are: texts by their characters, or lists by their items."""

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher


def ratio(found: Sequence[Hashable], expected: Sequence[Hashable]) -> float:
    """Twice the number of matching items over the number of all items, 0 to 1; two empty sequences are alike.

    Matches are those of Ratcliff and Obershelp ("Pattern Matching: The Gestalt Approach", 1988) as `difflib` finds them,
    with nothing taken for junk. Time grows with the square of the length, in bad cases with its cube: for long texts
    compare lines or words. The two arguments are not interchangeable: the matches may differ.
    """
    return SequenceMatcher(None, found, expected, autojunk=False).ratio()


def lines_ratio(found: str, expected: str) -> float:
    """`ratio` over the lines of two texts, white space at their ends aside."""
    ours, theirs = ([line.strip() for line in text.strip().splitlines()] for text in (found, expected))
    return ratio(ours, theirs)
