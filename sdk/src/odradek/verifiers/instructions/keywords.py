"""Words that must be in a text, must not be, or so often.

Where a keyword counts as part of a longer word (`art` in `party`), it is so in IFEval; the other checks look for whole words.
"""

import re
from itertools import pairwise
from typing import Annotated

from pydantic import Field

from odradek.verifiers.instructions import parts
from odradek.verifiers.instructions.registry import Relation, instruction, reaches

_Keyword = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=0)]
_Place = Annotated[int, Field(ge=1)]
_SHORTEST_PALINDROME = 3


def _count(text: str, keyword: str) -> int:
    """Occurrences of the keyword, in any case, in words too."""
    return len(re.findall(re.escape(keyword), text, re.IGNORECASE))


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


@instruction("keywords:existence")
def existence(text: str, keywords: list[_Keyword]) -> bool:
    return all(_count(text, keyword) for keyword in keywords)


@instruction("keywords:frequency")
def frequency(text: str, keyword: _Keyword, frequency: _Count, relation: Relation) -> bool:
    return reaches(_count(text, keyword), frequency, relation)


@instruction("keywords:word_count_different_numbers")
def word_count_different_numbers(text: str, keyword: _Keyword, frequency: _Count, relation: Relation) -> bool:
    return reaches(_count(text, keyword), frequency, relation)


@instruction("keywords:word_once")
def word_once(text: str, keyword: _Keyword) -> bool:
    return _count(text, keyword) == 1


@instruction("count:count_increment_word")
def count_increment_word(text: str, keyword1: _Keyword, keyword2: _Keyword) -> bool:
    """The first keyword once, the second one twice."""
    return _count(text, keyword1) == 1 and _count(text, keyword2) == 2


@instruction("keywords:forbidden_words")
def forbidden_words(text: str, forbidden_words: list[_Keyword]) -> bool:
    return not any(_has_word(text, word) for word in forbidden_words)


@instruction("keywords:exclude_word_harder")
def exclude_word_harder(text: str, keyword: _Keyword, instruction: str | None = None) -> bool:
    """`instruction` is what the keyword was taken from; it does not matter here."""
    return not _has_word(text, keyword)


@instruction("keywords:keyword_specific_position")
def keyword_specific_position(text: str, keyword: _Keyword, n: _Place, m: _Place) -> bool:
    """The keyword, in this case, is the m-th word of the n-th sentence, both from 1."""
    sentences = parts.sentences(text)
    words = parts.words(sentences[n - 1]) if n <= len(sentences) else []
    return m <= len(words) and words[m - 1] == keyword


@instruction("keywords:palindrome")
def palindrome(text: str) -> bool:
    """Some word of three letters or more reads the same from behind, in any case."""
    return any(
        len(word) >= _SHORTEST_PALINDROME and word == word[::-1]
        for word in map(str.casefold, parts.words(text))
    )


@instruction("keywords:no_adjacent_consecutive")
def no_adjacent_consecutive(text: str) -> bool:
    """No word begins with the letter that follows, in the alphabet, the one that the word before begins with."""
    openings = [word[0].lower() for word in parts.words(text)]
    return not any(
        left.isalpha() and right.isalpha() and ord(right) - ord(left) == 1
        for left, right in pairwise(openings)
    )


@instruction("count:count_unique")
def count_unique(text: str) -> bool:
    """No word is used twice, in whatever case."""
    words = [word.casefold() for word in parts.words(text)]
    return len(set(words)) == len(words)
