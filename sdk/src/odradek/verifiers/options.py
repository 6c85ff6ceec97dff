"""The options of a question: letters and their texts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


def normalized(text: str) -> str:
    """Lower case, with runs of white space as one space: how option texts are compared."""
    return " ".join(text.lower().split())


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen, as (upper-case letter, text) in the order of the question."""

    entries: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, rows: Iterable[Mapping[str, str | None]]) -> "Options":
        """Read options as rows bring them; keys that are no letter and options without a text are left out."""
        pairs = [(key, text) for row in rows for key, text in row.items()]
        return cls(
            tuple(
                (key.upper(), text)
                for key, text in pairs
                if len(key) == 1 and key.isalpha() and text is not None
            )
        )

    def __contains__(self, letter: str) -> bool:
        return any(letter == known for known, _ in self.entries)

    def allowed(self, letter: str) -> str | None:
        """The letter in upper case if it may be chosen."""
        upper = letter.upper()
        return upper if upper in self else None

    def equal_to(self, text: str) -> str | None:
        """The first option whose text is `text`, case and white space aside."""
        wanted = normalized(text)
        return next((letter for letter, own in self.entries if normalized(own) == wanted), None)

    def within(self, text: str) -> str | None:
        """The one option whose text is part of `text`; None where no option or several are."""
        whole = normalized(text)
        found = {letter for letter, own in self.entries if normalized(own) and normalized(own) in whole}
        return found.pop() if len(found) == 1 else None
