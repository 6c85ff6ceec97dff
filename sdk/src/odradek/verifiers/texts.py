"""Text against text: exactly, or after both have been brought into a normal form."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Normal:
    """What does not count when two texts are compared.

    `unicode`: compatibility forms (NFKC), such as full-width letters; `case`: by case folding; `space`: each run of white
    space is one space, none at the ends; `punctuation`: Unicode's categories P* are taken away; `articles`: the words a,
    an and the, in any case.
    """

    unicode: bool = True
    case: bool = True
    space: bool = True
    punctuation: bool = False
    articles: bool = False

    def of(self, text: str) -> str:
        """The normal form of `text`; taking it once more changes nothing."""
        if self.case:
            text = text.casefold()
        if self.unicode:
            text = unicodedata.normalize("NFKC", text)
        if self.case and self.unicode:
            # Unicode's toNFKC_Casefold: either of the two can bring up work for the other.
            text = unicodedata.normalize("NFKC", text.casefold())
        if self.punctuation:
            text = "".join(letter for letter in text if not unicodedata.category(letter).startswith("P"))
        if self.articles:
            text = " ".join(word for word in text.split() if word.casefold() not in _ARTICLES)
        return " ".join(text.split()) if self.space else text

    def equal(self, text: str, expected: str) -> bool:
        """Whether two texts have the same normal form."""
        return self.of(text) == self.of(expected)

    def within(self, text: str, expected: str) -> bool:
        """Whether the normal form of `expected` is part of that of `text`; an empty one is part of none."""
        wanted = self.of(expected)
        return bool(wanted) and wanted in self.of(text)


_ARTICLES = frozenset({"a", "an", "the"})


def exact(text: str, expected: str | Iterable[str]) -> bool:
    """Whether `text` is `expected`, or one of several accepted answers, character by character."""
    accepted = [expected] if isinstance(expected, str) else expected
    return any(text == one for one in accepted)


def normalized(text: str, expected: str | Iterable[str], normal: Normal | None = None) -> bool:
    """Whether `text` is one of the accepted answers in the normal form, by default that of `Normal()`."""
    form = normal or Normal()
    accepted = [expected] if isinstance(expected, str) else expected
    return any(form.equal(text, one) for one in accepted)
