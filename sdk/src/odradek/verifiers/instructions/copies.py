"""Texts that repeat a given text."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from odradek.verifiers.instructions import parts
from odradek.verifiers.instructions.registry import instruction

_Text = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=1)]


def _same(text: str, given: str) -> bool:
    """Case and white space at the ends do not count."""
    return text.strip().lower() == given.strip().lower()


@instruction("combination:repeat_prompt")
def repeat_prompt(text: str, prompt_to_repeat: _Text) -> bool:
    """The text begins with the prompt, in any case."""
    return text.strip().lower().startswith(prompt_to_repeat.strip().lower())


@instruction("combination:two_responses")
def two_responses(text: str) -> bool:
    """Two different answers with six asterisks between them."""
    answers = parts.responses(text)
    return answers is not None and len(answers) == 2 and answers[0] != answers[1]


@instruction("copy:copy")
def copy(text: str, prompt_to_repeat: _Text) -> bool:
    return _same(text, prompt_to_repeat)


@instruction("copy:copying_simple")
def copying_simple(text: str, prompt_to_repeat: _Text) -> bool:
    return _same(text, prompt_to_repeat)


@instruction("copy:copying_multiple")
def copying_multiple(text: str, prompt_to_repeat: _Text, N: _Count) -> bool:  # noqa: N803 - the data sets' name
    """The prompt so many times, with six asterisks between each two."""
    copies = text.split("******")
    return len(copies) == N and all(_same(one, prompt_to_repeat) for one in copies)


@instruction("new:copy_span_idx")
def copy_span(text: str, prompt_to_repeat: _Text, n_start: int, n_end: int) -> bool:
    """The prompt's characters from one place (from 0) up to, not with, the other."""
    return _same(text, prompt_to_repeat[n_start:n_end])


@instruction("copy:repeat_phrase")
def repeat_phrase(text: str, phrase: _Text, small_n: _Count) -> bool:
    """The phrase so many times, each time with another word in place of exactly one within it."""
    given = phrase.split()
    if len(given) < 2:
        return False
    found = list(_spans(text, f"{given[0]} ", f" {given[-1]}"))
    return len(found) == small_n and all(_one_word_other(copy.split(), given) for copy in found)


def _spans(text: str, opening: str, closing: str) -> Iterator[str]:
    """What stands from each opening to the next closing, both included, none within another."""
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start : end + len(closing)]
        start = text.find(opening, end + len(closing))


def _one_word_other(copy: list[str], given: list[str]) -> bool:
    return len(copy) == len(given) and sum(map(str.__ne__, copy, given)) == 1
