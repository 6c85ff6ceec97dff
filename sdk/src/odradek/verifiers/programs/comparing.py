"""Whether a program's output is the expected one, by the rules of NeMo Gym 0.7's code_gen server.

It compares line by line, as LiveCodeBench does, with a tolerance for floating-point numbers and none for whole ones.
"""

import math
from decimal import Decimal, DecimalException

from pydantic import JsonValue

_VERDICTS = ("yes", "no")
"""Judges accept these in any case."""

_TOLERANCE = Decimal("1e-6")
_RELATIVE, _ABSOLUTE = 1e-5, 1e-8
"""The tolerances of numpy.allclose."""


def outputs_match(expected: str, output: str) -> bool:
    """Whether two texts have the same lines, white space around the text and around each line aside."""
    wanted, found = ([line.strip() for line in text.strip().split("\n")] for text in (expected, output))
    return len(wanted) == len(found) and all(map(_lines_match, wanted, found))


def values_match(expected: JsonValue, value: JsonValue) -> bool:
    """Whether two JSON values are equal, floating-point numbers nearly so, in a list too, but no deeper."""
    if expected == value or _close(expected, value):
        return True
    if not (isinstance(expected, list) and isinstance(value, list)):
        return False
    return len(expected) == len(value) and all(map(_close, expected, value))


def _lines_match(expected: str, line: str) -> bool:
    if line == expected or (line.lower() in _VERDICTS and line.lower() == expected.lower()):
        return True
    wanted, found = expected.split(), line.split()
    return len(wanted) == len(found) and all(map(_numbers_match, wanted, found))


def _numbers_match(expected: str, word: str) -> bool:
    try:
        wanted, found = Decimal(expected), Decimal(word)
        if wanted == found:
            return True
        if not (_is_floating(expected) or _is_floating(word)) or not (
            wanted.is_finite() and found.is_finite()
        ):
            return False
        return abs(wanted - found) / max(abs(wanted), Decimal(1)) <= _TOLERANCE
    except DecimalException:
        return False


def _is_floating(word: str) -> bool:
    return "." in word or "e" in word.lower()


def _close(expected: JsonValue, value: JsonValue) -> bool:
    if expected == value:
        return True
    if isinstance(expected, bool) or isinstance(value, bool):
        return False
    if not (isinstance(expected, float) or isinstance(value, float)):
        return False
    if not isinstance(expected, int | float | str) or not isinstance(value, int | float | str):
        return False
    try:
        wanted, found = float(expected), float(value)
    except (ValueError, OverflowError):
        return False
    return math.isfinite(wanted) and abs(found - wanted) <= _ABSOLUTE + _RELATIVE * abs(wanted)
