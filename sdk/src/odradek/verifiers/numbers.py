r"""Numbers in text, and whether two are equal within a tolerance.

Numbers are exact fractions here: `0.1`, `1/10`, `10 %` and `\frac{1}{10}` are one number, and 0.1 + 0.2 is 0.3.
"""

import re
from fractions import Fraction

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)"
_DECIMAL = rf"(?:{_DIGITS}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{{1,4}})?"
_LATEX = r"\\[dt]?frac\{\s*(?P<over>[+-]?\d+)\s*\}\{\s*(?P<under>[+-]?\d+)\s*\}"
_NUMBER = re.compile(
    rf"(?<![\w.])(?P<sign>[+\-−]?)\s?[$€£]?\s?"
    rf"(?:{_LATEX}|(?P<whole>{_DECIMAL})(?:\s?/\s?(?P<part>{_DECIMAL}))?)(?P<percent>\s?\\?%)?(?!\w)"
)
_LONGEST = 1000
"""Digits of the longest number that is read: longer ones cost more than an answer is worth."""


def read_number(text: str) -> Fraction | None:
    """The number that `text` is, white space, `$...$` and a last full stop aside; None where it is no number."""
    bare = text.strip().removeprefix("$").removesuffix("$").strip()
    match = _NUMBER.fullmatch(bare) or _NUMBER.fullmatch(bare.removesuffix("."))
    return None if match is None else _value(match)


def last_number(text: str) -> Fraction | None:
    """The last number in a text, None where there is none."""
    values = (_value(match) for match in reversed(list(_NUMBER.finditer(text))))
    return next((value for value in values if value is not None), None)


def close(
    value: Fraction | float, expected: Fraction | float, relative: float = 0.0, absolute: float = 0.0
) -> bool:
    """Whether `value` is within `absolute` of `expected`, or within `relative` of its size: exactly, by default.

    Raises:
        ValueError: a tolerance is negative or not finite, or a number is not finite.
    """
    if not (0 <= relative < float("inf") and 0 <= absolute < float("inf")):
        raise ValueError(
            f"tolerances must be finite and not negative: relative={relative}, absolute={absolute}"
        )
    wanted = _fraction(expected)
    margin = max(Fraction(absolute), Fraction(relative) * abs(wanted))
    return abs(_fraction(value) - wanted) <= margin


def _fraction(number: Fraction | float) -> Fraction:
    try:
        return Fraction(number)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{number} is no finite number") from error


def _value(match: re.Match[str]) -> Fraction | None:
    if len(match[0]) > _LONGEST:
        return None
    if match["over"] is not None:
        whole, part = Fraction(match["over"]), Fraction(match["under"])
    else:
        whole, part = _decimal(match["whole"]), _decimal(match["part"] or "1")
    if part == 0:
        return None
    value = whole / part / (100 if match["percent"] else 1)
    return -value if match["sign"] in ("-", "−") else value


def _decimal(text: str) -> Fraction:
    return Fraction(text.replace(",", "").removesuffix("."))
