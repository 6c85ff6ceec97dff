"""Reading the chosen letter out of a model's text, one function per grading mode.

Each takes the text and the options and returns an upper-case letter, or None where no single choice can be read.
The modes and their names are those of NeMo Gym 0.7's `mcqa` server.
"""

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

from odradek.verifiers.boxes import last_box, without_text_command
from odradek.verifiers.options import Options


class GradingMode(StrEnum):
    """Where the letter is looked for."""

    STRICT_SINGLE_LETTER_BOXED = "strict_single_letter_boxed"
    LENIENT_BOXED = "lenient_boxed"
    LENIENT_ANSWER_COLON = "lenient_answer_colon"
    LENIENT_ANSWER_COLON_MD = "lenient_answer_colon_md"


_ASCII_LETTER = re.compile(r"[A-Za-z]")
_LABEL = re.compile(r"\s*([A-Z])\s*[:).\-]")
_ANSWER = re.compile(r"answer\s*:\s*(.+)", re.IGNORECASE)
_MARKED_ANSWER = re.compile(r"[*_]{0,2}answer[*_]{0,2}\s*:[*_\s]{0,2}(.+)", re.IGNORECASE)
_LONE_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_LEADING_LETTER = re.compile(r"[A-Za-z](?![A-Za-z0-9])")
_CAPITAL_WORD = re.compile(r"\b[A-Z]\b")
_SEPARATOR = re.compile(r"\s*[/|&,;]\s*|\s+(?:(?:or|and)\s+)?", re.IGNORECASE)
_DECORATION = "*_` \t\n\r.,;:"
_LETTERS_ELSEWHERE = str.maketrans(dict(zip("أبجدঅবডঢ", (" A", " B", " C", " D") * 2, strict=True)))
"""Arabic and Bengali option letters."""


def extract(
    text: str,
    mode: GradingMode,
    options: Options,
    patterns: Sequence[str] = (),
    answer_prefix: str | None = None,
) -> str | None:
    """The letter that `text` chooses: by the first of the row's own patterns that yields one, else by the mode."""
    text = text.strip()
    if not text:
        return None
    by_pattern = letter_by_patterns(text, patterns, options)
    return by_pattern or choice(text, mode, options, answer_prefix)


def choice(text: str, mode: GradingMode, options: Options, answer_prefix: str | None = None) -> str | None:
    """The letter that `text` chooses under `mode`; `answer_prefix` serves `lenient_answer_colon_md` alone."""
    match mode:
        case GradingMode.STRICT_SINGLE_LETTER_BOXED:
            return boxed_letter(text, options)
        case GradingMode.LENIENT_BOXED:
            return boxed_letter(text, options) or boxed_option(text, options)
        case GradingMode.LENIENT_ANSWER_COLON:
            return letter_after_colon(text, options)
        case GradingMode.LENIENT_ANSWER_COLON_MD:
            return letter_in_markdown(text, options, answer_prefix)


def boxed_letter(text: str, options: Options) -> str | None:
    """The only letter in the last box, or the one that a label such as `E:` or `E)` begins with."""
    box = last_box(text)
    if box is None:
        return None
    inner = without_text_command(box.strip())
    letters = _ASCII_LETTER.findall(inner)
    if len(letters) == 1 and letters[0].isupper():
        return letters[0] if letters[0] in options else None
    label = _LABEL.match(inner)
    return label[1] if label and label[1] in options else None


def boxed_option(text: str, options: Options) -> str | None:
    """The option whose text stands in the last box."""
    box = last_box(text)
    return None if box is None else options.within(box)


def letter_after_colon(text: str, options: Options) -> str | None:
    """What follows the first `Answer:`, when it is one letter or an option's whole text."""
    found = _ANSWER.search(text)
    if found is None:
        return None
    payload = without_text_command(found[1]).strip()
    letter = options.allowed(payload) if len(payload) == 1 else None
    return letter or options.equal_to(payload)


def letter_in_markdown(text: str, options: Options, answer_prefix: str | None) -> str | None:
    """The letter after the last `**Answer:**` (or the row's own prefix) from which one can be read.

    With a prefix of its own, a row's letter may also be boxed.
    """
    for payload in reversed(_payloads(unicodedata.normalize("NFKC", text), answer_prefix)):
        letter = _single_letter(payload, options)
        if letter is not None:
            return letter
    return boxed_letter(text, options) if answer_prefix else None


def letter_by_patterns(text: str, patterns: Sequence[str], options: Options) -> str | None:
    """The first letter that one of a row's own patterns yields; patterns that don't compile yield none."""
    found = (_letter_by_pattern(text, pattern, options) for pattern in patterns)
    return next((letter for letter in found if letter is not None), None)


def _payloads(text: str, answer_prefix: str | None) -> list[str]:
    """What stands behind each `Answer:` and each prefix, up to the line's end, in the order of the text."""
    found = [(match.start(), match[1]) for match in _MARKED_ANSWER.finditer(text)]
    if answer_prefix:
        prefix = re.escape(unicodedata.normalize("NFKC", answer_prefix))
        own = re.finditer(rf"{prefix}\s*", text, re.IGNORECASE)
        found += [(match.start(), _rest_of_line(text, match.end())) for match in own]
    return [payload for _, payload in sorted(found, key=lambda item: item[0])]


def _rest_of_line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def _single_letter(payload: str, options: Options) -> str | None:
    """The letter alone, else the one it begins with, else the last capital that stands alone."""
    candidate = _latin(payload).strip(_DECORATION)
    if _lists_several(candidate, options):
        return None
    if len(candidate) == 1:
        return options.allowed(candidate)
    leading = _LEADING_LETTER.match(candidate)
    if leading:
        return options.allowed(leading[0])
    capitals = _CAPITAL_WORD.findall(candidate)
    return options.allowed(capitals[-1]) if capitals else None


def _lists_several(text: str, options: Options) -> bool:
    """Whether different letters stand side by side as a list: `A, B`, `A or B`, `A B`."""
    lone = [match for match in _LONE_LETTER.finditer(text) if options.allowed(match[0])]
    return any(
        left[0].upper() != right[0].upper() and _SEPARATOR.fullmatch(text[left.end() : right.start()])
        for left, right in pairwise(lone)
    )


def _letter_by_pattern(text: str, pattern: str, options: Options) -> str | None:
    """What the pattern's last match captured: a letter (trusted as it is), or an option's whole text."""
    try:
        matches = list(re.finditer(pattern, text, re.IGNORECASE))
    except (re.error, OverflowError, RecursionError):
        return None
    if not matches:
        return None
    last = matches[-1]
    captured = next((group for group in last.groups() if group), "") if last.re.groups else last[0]
    letter = _latin(captured).upper()
    if len(letter) == 1 and letter.isalpha():
        return letter
    return options.equal_to(letter)


def _latin(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_LETTERS_ELSEWHERE).strip()
