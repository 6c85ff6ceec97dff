"""What a text, or each of its sentences, begins and ends with."""

import re
from typing import Annotated

from pydantic import Field

from odradek.verifiers.instructions import parts
from odradek.verifiers.instructions.registry import instruction

_Word = Annotated[str, Field(min_length=1)]


@instruction("first_word:first_word_answer")
def first_word_answer(text: str, first_word: _Word) -> bool:
    return _first(text) == first_word.lower()


@instruction("first_word:first_word_sent")
def first_word_sentence(text: str, first_word: _Word) -> bool:
    return all(_first(sentence) == first_word.lower() for sentence in parts.sentences(text))


@instruction("last_word:last_word_answer")
def last_word_answer(text: str, last_word: _Word) -> bool:
    return _last(text) == _bare(last_word)


@instruction("last_word:last_word_sent")
def last_word_sentence(text: str, last_word: _Word) -> bool:
    return all(_last(sentence) == _bare(last_word) for sentence in parts.sentences(text))


@instruction("startend:end_checker")
def end_checker(text: str, end_phrase: _Word) -> bool:
    """The text ends with the phrase, in any case; a double quotation mark may stand behind it."""
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


@instruction("startend:quotation")
def quotation(text: str) -> bool:
    """The whole text stands in double quotation marks."""
    bare = text.strip()
    return len(bare) > 1 and bare.startswith('"') and bare.endswith('"')


@instruction("keywords:start_end")
def start_end(text: str) -> bool:
    """First and last word are the same, in any case; nothing stands behind the last one, not even a full stop."""
    words = parts.words(text)
    return len(words) > 1 and words[0].lower() == words[-1].lower() and text.rstrip().endswith(words[-1])


def _first(text: str) -> str:
    """The first word as it stands, with what is written right behind it."""
    return text.split()[0].lower()


def _last(text: str) -> str:
    return _bare(text.split()[-1])


def _bare(word: str) -> str:
    """A word in small letters, without punctuation."""
    return re.sub(r"[^\w\s]", "", word).strip().lower()
