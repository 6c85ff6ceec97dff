"""Reading a judge's words as a verdict of a known type: a label, a number, or fields.

A reader takes the text of a reply and raises `UnreadableVerdict` where it holds no verdict: that is the judge's failure, and
never a verdict against the one who is judged.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from odradek.verifiers.documents import fenced
from odradek_schemas.codec import explain

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

Reader = Callable[[str], T]

_SCORE = re.compile(r"score\W{0,5}?\s*(-?\d+(?:\.\d+)?)", re.IGNORECASE)


class UnreadableVerdict(ValueError):
    """A judge's reply holds no verdict that can be read; says what is missing."""


def labelled(labels: Mapping[str, T], last: bool = True) -> Reader[T]:
    """What the label says that stands last in the text, or first with `last=False`; each to the letter.

    Ask for the verdict at the end: judges that reason first may name labels on their way.
    """
    longest_first = sorted(labels, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))

    def read(text: str) -> T:
        found = pattern.findall(text)
        if not found:
            raise UnreadableVerdict(f"none of {', '.join(labels)} is in it")
        return labels[found[-1 if last else 0]]

    return read


def scored(lowest: float, highest: float) -> Reader[float]:
    """The last `Score: 7` of the text (or `**Score:** 7/10`), from `lowest` to `highest`, as a share from 0 to 1.

    Raises:
        ValueError: `lowest` is not below `highest`.
    """
    if not lowest < highest:
        raise ValueError(f"the lowest score, {lowest}, must be below the highest, {highest}")

    def read(text: str) -> float:
        found = _SCORE.findall(text)
        if not found:
            raise UnreadableVerdict("no 'Score: <number>' is in it")
        score = float(found[-1])
        if not lowest <= score <= highest:
            raise UnreadableVerdict(f"the score {score:g} is not from {lowest:g} to {highest:g}")
        return (score - lowest) / (highest - lowest)

    return read


def fields(model: type[M]) -> Reader[M]:
    """The JSON object of the text as a `model`: in the last code block, else from the first brace to the last."""

    def read(text: str) -> M:
        inside = fenced(text)
        start, end = inside.find("{"), inside.rfind("}")
        if start < 0 or end < start:
            raise UnreadableVerdict("no JSON object is in it")
        try:
            return model.model_validate_json(inside[start : end + 1])
        except ValidationError as error:
            raise UnreadableVerdict(explain(error)) from error

    return read
