"""Placeholders in a manifest's texts: `{prompt}`, `{model}` and so on; `{{word}}` is `{word}` as it stands.

What is put in is another's text: a prompt may hold quotes, newlines and braces. As an argument, a variable or standard
input, and in a file of plain text, it goes in as it is. In a configuration file it stands within double quotes and is
escaped there. In a file of any other kind, code above all, there are no placeholders.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

import orjson

NAMES = {
    "prompt": "what the agent is to do",
    "model": "the model's name",
    "base_url": "the gateway's URL, without /v1",
    "token": "the key for the gateway, good for this rollout alone",
    "rollout_id": "the rollout's id",
    "home": "the program's own folder, removed afterwards",
    "workspace": "the folder that it works in",
    "folder": "the folder of the manifest",
    "seconds": "its time",
}
"""Every placeholder, and what it stands for."""

NUMBERS = frozenset({"seconds"})
"""Those that need no quotes."""

_WORD = re.compile(r"\{(\{[a-z_]+\}|[a-z_]+)\}")
_NASTY = "\"'}{\\\n#"

# What JSON, TOML and YAML write in double quotes the same way. The rest of Unicode stands there as it is.
_NEEDS_ESCAPE = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]')


def words_of(template: str) -> set[str]:
    """The placeholders in it."""
    return {word for word in _WORD.findall(template) if not word.startswith("{")}


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with the values in it. What looks like a placeholder within a value is text."""
    return _WORD.sub(lambda found: found[1] if found[1].startswith("{") else values[found[1]], template)


def words_of_file(path: str, template: str) -> set[str]:
    """The placeholders in a file of this name."""
    return words_of(template) if _is_text(path) or _parser(path) else set()


def filled_file(path: str, template: str, values: Mapping[str, str]) -> str:
    """The content of a file of this name."""
    if _is_text(path):
        return filled(template, values)
    if _parser(path) is None:
        return template
    return filled(template, {name: escaped(value) for name, value in values.items()})


def escaped(value: str) -> str:
    """The value as it stands between double quotes in JSON, TOML and YAML."""
    return _NEEDS_ESCAPE.sub(lambda found: _escape(found[0]), value)


def check_words(template: str) -> None:
    """Raises ValueError: it holds a placeholder that there is not."""
    for word in sorted(words_of(template) - NAMES.keys()):
        raise ValueError(
            f"no value is called {{{word}}}; there are {', '.join(NAMES)}; "
            f"double the braces where it is meant as it stands: {{{{{word}}}}}"
        )


def check_file(path: str, template: str) -> None:
    """Raises ValueError: a value, whatever it holds, would not stay the text that it is."""
    words = words_of_file(path, template)
    if words:
        check_words(template)
    if (parse := _parser(path)) is None:
        return
    probes = {name: "60" if name in NUMBERS else f"{name}{_NASTY}" for name in NAMES}
    try:
        texts = list(_texts(parse(filled_file(path, template, probes))))
    except ValueError as error:
        raise ValueError(
            f"does not read with values in it; put each within double quotes: {error}"
        ) from error
    for word in sorted(words - NUMBERS):
        if not any(probes[word] in text for text in texts):
            raise ValueError(f"{{{word}}} must stand within double quotes")


def _is_text(path: str) -> bool:
    return PurePosixPath(path).suffix in (".md", ".txt")


def _parser(path: str) -> Callable[[str], Any] | None:
    """How a file of this name is read; YAML is to be written as JSON, which YAML can read."""
    match PurePosixPath(path).suffix:
        case ".json" | ".yaml" | ".yml":
            return orjson.loads
        case ".toml":
            return tomllib.loads
        case _:
            return None


def _texts(document: Any) -> Iterator[str]:
    """Every text of a document, keys included."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for name, value in document.items():
            yield name
            yield from _texts(value)
    elif isinstance(document, list):
        for value in document:
            yield from _texts(value)


def _escape(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\u{ord(character):04x}"
