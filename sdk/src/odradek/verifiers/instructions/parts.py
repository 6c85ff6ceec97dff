"""The parts of a text: words, sentences, paragraphs."""

import re

_WORD = re.compile(r"\w+(?:['’\-]\w+)*")
_ABBREVIATED = (
    "mr mrs ms dr prof st jr sr vs etc e.g i.e cf fig no vol inc ltd co dept est approx ph.d u.s u.k a.m p.m"
)
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_END = re.compile(r"(?<![.!?…])[.!?…]+[\"'”’)\]*_]*(?=\s|$)|[。！？]+")
_DIVIDER = re.compile(r"\s?\*\*\*\s?")


def words(text: str) -> list[str]:
    """The words of a text; what an apostrophe or a hyphen joins is one, as in `don't` and `well-kept`."""
    return _WORD.findall(text)


def sentences(text: str) -> list[str]:
    """The sentences of a text: each ends with a full stop, question or exclamation mark, or the text.

    A line's end alone ends no sentence, nor does the dot of an abbreviation, an initial or a numbered line.
    """
    found, start = [], 0
    for match in _END.finditer(text):
        if _ends_sentence(text[start : match.start()], match[0]):
            found.append(text[start : match.end()])
            start = match.end()
    whole = [*found, text[start:]]
    return [" ".join(sentence.split()) for sentence in whole if sentence.strip()]


def _ends_sentence(before: str, mark: str) -> bool:
    if mark != ".":
        return True
    last = before.split()[-1].lstrip("([\"'“‘*_").lower() if before.split() else ""
    is_initial = len(last) == 1 and last.isalpha() and last != "i"
    is_number_of_line = last.isdigit() and before.rsplit("\n", 1)[-1].strip() == last
    return bool(last) and not is_initial and not is_number_of_line and last not in _ABBREVIATIONS


def divided(text: str) -> list[str] | None:
    """The paragraphs between the Markdown dividers `***`; None where one in the middle is empty."""
    return _without_empty_ends(_DIVIDER.split(text))


def separated(text: str) -> list[str] | None:
    """The paragraphs between blank lines (two line breaks); None where one in the middle is empty."""
    return _without_empty_ends(text.split("\n\n"))


def responses(text: str) -> list[str] | None:
    """The answers between six asterisks; None where one in the middle is empty."""
    return _without_empty_ends(text.split("******"))


def _without_empty_ends(pieces: list[str]) -> list[str] | None:
    inner = [piece.strip() for piece in pieces]
    if inner and not inner[0]:
        inner = inner[1:]
    if inner and not inner[-1]:
        inner = inner[:-1]
    return inner if all(inner) else None
