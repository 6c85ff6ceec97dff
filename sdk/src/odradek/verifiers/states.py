"""The state that a world ended in against the one that was wanted: which values differ, and where."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import isfinite

from pydantic import JsonValue

from odradek.verifiers.numbers import close

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not as wanted. `path` is dotted, as in `emails.3.subject`; empty for the whole.

    `reason` is `missing`, `unexpected` or `different`.
    """

    path: str
    reason: str
    expected: JsonValue = None
    actual: JsonValue = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How states are compared.

    `ignoring`: paths, or shell patterns of them (`*` reaches over dots too), that don't count, with what lies below them.
    `unordered`: paths or patterns of lists whose order does not count. `relative`: a tolerance for numbers.
    """

    ignoring: Collection[str] = ()
    unordered: Collection[str] = ()
    relative: float = 0.0

    def equal(self, actual: JsonValue, expected: JsonValue) -> bool:
        """Whether nothing differs."""
        return next(self.differences(actual, expected), None) is None

    def differences(self, actual: JsonValue, expected: JsonValue, path: str = "") -> Iterator[Difference]:
        """All differences, in the order of the expected state and then of the actual one."""
        if any(fnmatchcase(path, pattern) for pattern in self.ignoring):
            return
        if isinstance(actual, dict) and isinstance(expected, dict):
            yield from self._objects(actual, expected, path)
        elif isinstance(actual, list) and isinstance(expected, list):
            yield from self._lists(actual, expected, path)
        elif not self._same(actual, expected):
            yield Difference(path, "different", expected, actual)

    def _objects(
        self, actual: dict[str, JsonValue], expected: dict[str, JsonValue], path: str
    ) -> Iterator[Difference]:
        for key in [*expected, *(key for key in actual if key not in expected)]:
            yield from self._entries(actual.get(key, _ABSENT), expected.get(key, _ABSENT), _below(path, key))

    def _lists(self, actual: list[JsonValue], expected: list[JsonValue], path: str) -> Iterator[Difference]:
        if any(fnmatchcase(path, pattern) for pattern in self.unordered):
            actual = self._paired(actual, expected, path)
        for index in range(max(len(actual), len(expected))):
            ours = actual[index] if index < len(actual) else _ABSENT
            theirs = expected[index] if index < len(expected) else _ABSENT
            yield from self._entries(ours, theirs, _below(path, index))

    def _entries(self, actual: object, expected: object, path: str) -> Iterator[Difference]:
        if actual is not _ABSENT and expected is not _ABSENT:
            yield from self.differences(actual, expected, path)  # type: ignore[arg-type]
        elif not any(fnmatchcase(path, pattern) for pattern in self.ignoring):
            if actual is _ABSENT:
                yield Difference(path, "missing", expected=expected)  # type: ignore[arg-type]
            else:
                yield Difference(path, "unexpected", actual=actual)  # type: ignore[arg-type]

    def _paired(self, actual: list[JsonValue], expected: list[JsonValue], path: str) -> list[JsonValue]:
        """`actual` in an order in which each item stands opposite an equal one, where there is one."""
        rest = list(actual)
        chosen: list[object] = []
        for index, wanted in enumerate(expected):
            below = _below(path, index)
            found = next(
                (at for at, item in enumerate(rest) if not any(self.differences(item, wanted, below))), None
            )
            chosen.append(_ABSENT if found is None else rest.pop(found))
        unpaired = iter(rest)
        ordered = [next(unpaired, _ABSENT) if item is _ABSENT else item for item in chosen]
        return [*ordered, *unpaired]  # type: ignore[list-item]

    def _same(self, actual: JsonValue, expected: JsonValue) -> bool:
        """Whether two values are equal as JSON: 1 and 1.0 are one number, true and 1 are not one value."""
        if isinstance(actual, bool) or isinstance(expected, bool):
            return actual is expected
        if isinstance(actual, int | float) and isinstance(expected, int | float):
            finite = isfinite(actual) and isfinite(expected)
            return actual == expected or (finite and close(actual, expected, relative=self.relative))
        return type(actual) is type(expected) and actual == expected


def _below(path: str, key: str | int) -> str:
    return f"{path}.{key}" if path else str(key)
