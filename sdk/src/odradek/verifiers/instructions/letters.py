"""Letters, their case, and punctuation."""

from typing import Annotated

from pydantic import Field

from odradek.verifiers.instructions import parts
from odradek.verifiers.instructions.languages import is_english
from odradek.verifiers.instructions.registry import Relation, instruction, reaches

_Count = Annotated[int, Field(ge=0)]
_Letter = Annotated[str, Field(min_length=1, max_length=1)]


@instruction("keywords:letter_frequency")
def letter_frequency(text: str, letter: _Letter, let_frequency: _Count, let_relation: Relation) -> bool:
    """How often a letter is there, in either case."""
    return reaches(text.lower().count(letter.lower()), let_frequency, let_relation)


@instruction("letters:letter_counting2")
def letter_counting2(text: str, letter: _Letter, let_frequency: _Count, let_relation: Relation) -> bool:
    return letter_frequency(text, letter, let_frequency, let_relation)


@instruction("letters:letter_counting")
def letter_counting(text: str, N: _Count, relation: Relation) -> bool:  # noqa: N803 - the data sets' name
    """Letters of any alphabet."""
    return reaches(sum(letter.isalpha() for letter in text), N, relation)


@instruction("count:lowercase_counting")
def lowercase_counting(text: str, N: _Count) -> bool:  # noqa: N803 - the data sets' name
    """At most so many words in small letters alone."""
    return sum(word.islower() for word in parts.words(text)) <= N


@instruction("change_case:capital_word_frequency")
def capital_word_frequency(text: str, capital_frequency: _Count, capital_relation: Relation) -> bool:
    """How many words are in capital letters alone."""
    return reaches(sum(word.isupper() for word in parts.words(text)), capital_frequency, capital_relation)


@instruction("change_case:english_capital")
def english_capital(text: str) -> bool:
    return text.isupper() and is_english(text)


@instruction("change_case:english_lowercase")
def english_lowercase(text: str) -> bool:
    return text.islower() and is_english(text)


@instruction("punctuation:no_comma")
def no_comma(text: str) -> bool:
    return "," not in text


@instruction("punctuation:punctuation_dot")
def no_dot(text: str) -> bool:
    return "." not in text


@instruction("punctuation:punctuation_exclamation")
def no_exclamation_mark(text: str) -> bool:
    return "!" not in text
