"""How long a text is: words, sentences, paragraphs."""

import re
from typing import Annotated

from pydantic import Field

from odradek.verifiers.instructions import parts
from odradek.verifiers.instructions.registry import Relation, instruction, reaches

_Count = Annotated[int, Field(ge=0)]
_Place = Annotated[int, Field(ge=1)]
_RUN = re.compile(r"\w+")
_SPACED_DIVIDER = re.compile(r"\*[ ]\*[ ]\*")


@instruction("length_constraints:number_words")
def number_words(text: str, num_words: _Count, relation: Relation) -> bool:
    """Runs of letters, digits and underscores are words here, as IFEval counts them: `don't` is two."""
    return reaches(len(_RUN.findall(text)), num_words, relation)


@instruction("length_constraints:number_sentences")
def number_sentences(text: str, num_sentences: _Count, relation: Relation) -> bool:
    return reaches(len(parts.sentences(text)), num_sentences, relation)


@instruction("length_constraints:number_paragraphs")
def number_paragraphs(text: str, num_paragraphs: _Count) -> bool:
    """Paragraphs are divided by `***`; none but the outermost may be empty."""
    paragraphs = parts.divided(text)
    return paragraphs is not None and len(paragraphs) == num_paragraphs


@instruction("paragraphs:paragraphs")
def two_divided(text: str) -> bool:
    return number_paragraphs(text, 2)


@instruction("paragraphs:paragraphs2")
def two_separated(text: str) -> bool:
    """Two paragraphs with one blank line between them."""
    paragraphs = parts.separated(text)
    return paragraphs is not None and len(paragraphs) == 2


@instruction("length_constraints:nth_paragraph_first_word")
def nth_paragraph_first_word(
    text: str, num_paragraphs: _Place, nth_paragraph: _Place, first_word: str
) -> bool:
    """So many paragraphs between blank lines, and the one at the place (from 1) begins with the word, in any case."""
    pieces = text.split("\n\n")
    if sum(bool(piece.strip()) for piece in pieces) != num_paragraphs or nth_paragraph > num_paragraphs:
        return False
    opening = pieces[nth_paragraph - 1].split()
    begun = re.split(r"[.,?!'\"]", opening[0].lstrip("'").lstrip('"'))[0] if opening else ""
    return bool(begun) and begun.lower() == first_word.lower()


@instruction("count:counting_composition")
def counting_composition(text: str, n_sent: _Count, n_words: _Count) -> bool:
    """Three paragraphs between dividers (`***` or `* * *`), each of so many sentences, each of so many words."""
    paragraphs = parts.divided(_SPACED_DIVIDER.sub("***", text))
    if paragraphs is None or len(paragraphs) != 3:
        return False
    written = [parts.sentences(paragraph) for paragraph in paragraphs]
    return all(len(one) == n_sent for one in written) and all(
        len(parts.words(sentence)) == n_words for one in written for sentence in one
    )
