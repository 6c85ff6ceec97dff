"""Short answers to reading questions, compared as SQuAD compares them: exact match and F1 over words.

Source: Rajpurkar et al., "SQuAD: 100,000+ Questions for Machine Comprehension of Text" (2016), and "Know What You Don't
Know" (2018) for questions without an answer: with none, or an empty one, only an empty reply is right.
"""

import re
import string
from collections.abc import Iterable

from odradek.verifiers.sets import multiset_overlap

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normal_form(text: str) -> str:
    """Lower case, without ASCII punctuation and the English articles, words apart by one space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(text: str, answers: Iterable[str]) -> float:
    """1 when the normal form of `text` is that of one of the accepted answers, else 0."""
    reply = normal_form(text)
    return float(any(reply == normal_form(answer) for answer in _accepted(answers)))


def f1(text: str, answers: Iterable[str]) -> float:
    """The best F1, 0 to 1, between the words of `text` and those of one of the accepted answers."""
    reply = normal_form(text).split()
    return max(_f1(reply, normal_form(answer).split()) for answer in _accepted(answers))


def _accepted(answers: Iterable[str]) -> list[str]:
    """Answers that are nothing but articles and punctuation are left out where there are others."""
    accepted = list(answers)
    return [answer for answer in accepted if normal_form(answer)] or [""]


def _f1(reply: list[str], answer: list[str]) -> float:
    if not reply or not answer:
        return float(reply == answer)
    return multiset_overlap(reply, answer).f1
