"""The form of a text: Markdown, JSON, brackets, set phrases."""

import json
import re
from typing import Annotated

from pydantic import Field

from odradek.verifiers.instructions import parts
from odradek.verifiers.instructions.registry import instruction

_Count = Annotated[int, Field(ge=0)]
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
_BULLET = re.compile(r"^[ \t]*(?:\*[^*]|-).*$", re.MULTILINE)
_HIGHLIGHT = re.compile(r"\*\*[^\n*]+\*\*|\*[^\n*]+\*")
_FENCE = re.compile(r"^```(?:json)?(.*?)(?:```)?$", re.IGNORECASE | re.DOTALL)
_CHOICES = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_POSTSCRIPTS = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}
_HYPHEN_APART = re.compile(r"[.!?][\"')\]]*-\s")


@instruction("detectable_content:number_placeholders")
def number_placeholders(text: str, num_placeholders: _Count) -> bool:
    """At least so many places in square brackets, as in `[address]`."""
    return len(_PLACEHOLDER.findall(text)) >= num_placeholders


@instruction("detectable_content:postscript")
def postscript(text: str, postscript_marker: Annotated[str, Field(min_length=1)]) -> bool:
    """The marker is there, in any case; in `P.S.` and `P.P.S` spaces may stand between the letters."""
    pattern = _POSTSCRIPTS.get(postscript_marker, re.escape(postscript_marker.lower()))
    return re.search(pattern, text.lower()) is not None


@instruction("detectable_format:number_bullet_lists")
def number_bullet_lists(text: str, num_bullets: _Count) -> bool:
    """Exactly so many lines that begin with `* ` or `-`."""
    return len(_BULLET.findall(text)) == num_bullets


@instruction("detectable_format:number_highlighted_sections")
def number_highlighted_sections(text: str, num_highlights: _Count) -> bool:
    """At least so many `*highlighted*` or `**highlighted**` places."""
    return sum(bool(place.strip("* ")) for place in _HIGHLIGHT.findall(text)) >= num_highlights


@instruction("detectable_format:multiple_sections")
def multiple_sections(
    text: str, section_spliter: Annotated[str, Field(min_length=1)], num_sections: _Count
) -> bool:
    """At least so many sections that begin with the word and a number, as in `Section 1`."""
    return len(re.findall(rf"{re.escape(section_spliter)}\s?\d+", text)) >= num_sections


@instruction("detectable_format:title")
def title(text: str) -> bool:
    """A title in double angular brackets, as in `<<poem of joy>>`."""
    return any(map(_title, text.split("\n")))


def _title(line: str) -> str:
    """What stands in the line between its first `<<` and its last `>>`."""
    start, end = line.find("<<"), line.rfind(">>")
    return line[start + 2 : end].strip("<> \t") if 0 <= start < end else ""


@instruction("detectable_format:json_format")
def json_format(text: str) -> bool:
    """Nothing but JSON, perhaps in a Markdown code block."""
    bare = text.strip()
    fence = _FENCE.match(bare)
    try:
        json.loads(fence[1] if fence else bare)
    except (ValueError, RecursionError):
        return False
    return True


@instruction("detectable_format:constrained_response")
def constrained_response(text: str) -> bool:
    """One of IFEval's three set answers is there, to the letter."""
    return any(choice in text for choice in _CHOICES)


@instruction("detectable_format:square_brackets")
def square_brackets(text: str) -> bool:
    """Each word by itself stands in square brackets."""
    return all(word.startswith("[") and word.endswith("]") for word in text.split())


@instruction("detectable_format:bigram_wrapping")
def bigram_wrapping(text: str) -> bool:
    """Each two words stand in double angular brackets, as in `<<I am>> <<at home>>`; a last odd word may stand alone."""
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=False)
    return all(left.startswith("<<") and right.endswith(">>") for left, right in pairs)


@instruction("detectable_format:sentence_hyphens")
def sentence_hyphens(text: str) -> bool:
    """Sentences are joined by hyphens, with no space between them."""
    return len(parts.sentences(text)) == 1 and _HYPHEN_APART.search(text) is None
