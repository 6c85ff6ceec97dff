"""Where a manifest says that something is to be read, and what stands there."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from odradek.programs.manifest import Place, Source

MOST_OF_STREAM = 4 << 20
MOST_OF_FILE = 32 << 20
"""Bytes that are read: the last ones. A file may be a whole trajectory, which only counts as a whole."""


class Written:
    """What a program left: its two streams, and the files that its manifest names."""

    def __init__(self, stdout: str, stderr: str, files: Mapping[str, str]) -> None:
        self._streams = {"stdout": stdout, "stderr": stderr}
        self._files = files

    def at(self, place: Place) -> str | None:
        """The text at a place; None: there is no such file."""
        return self._streams[place.stream] if place.file is None else self._files.get(place.file)

    def values(self, source: Source, path: str | None = None) -> list[Any]:
        """What the source tells (`path`: of another path there); nothing where it is null or can't be read."""
        text = (self.at(source) or "").strip()
        if not text:
            return []
        match source.read:
            case "all":
                return [text]
            case "last_line":
                return text.split("\n")[-1:]
            case "json":
                return _values_in(_parsed(text), source, path)
            case "jsonl":
                events = (_values_in(_parsed(line), source, path) for line in reversed(text.split("\n")))
                return next((found for found in events if found), [])


def text_of(values: list[Any]) -> str:
    """Values for a person: texts as they are, the rest as JSON."""
    return "".join(value if isinstance(value, str) else orjson.dumps(value).decode() for value in values)


def _values_in(document: Any, source: Source, path: str | None) -> list[Any]:
    if document is None or any(
        list(_along(document, where)) != [value] for where, value in source.match.items()
    ):
        return []
    for one in (source.path if path is None else path).split("|"):
        if found := [value for value in _along(document, one.strip()) if value is not None]:
            return found
    return []


def _along(document: Any, path: str) -> Iterator[Any]:
    """What stands at a dotted path; `*` is every entry of a list, a number one of them."""
    if not path:
        yield document
        return
    step, _, rest = path.partition(".")
    for value in _entries(document, step):
        yield from _along(value, rest)


def _entries(document: Any, step: str) -> Iterator[Any]:
    if isinstance(document, dict) and step in document:
        yield document[step]
    elif isinstance(document, list) and step == "*":
        yield from document
    elif isinstance(document, list) and step.lstrip("-").isdecimal():
        yield from document[int(step) :][:1]


def _parsed(text: str) -> Any:
    """The document; None where it is none: programs write other things among their events."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
