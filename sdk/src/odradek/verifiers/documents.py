"""Documents in JSON, YAML, XML or TOML: whether they can be read, and whether they are what a JSON Schema asks for.

YAML and XML need the extra `odradek[documents]`. What a model wrote is read with care: aliases in YAML, and entities and
document types in XML, are refused, since both can make a small text into an endless value.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson
from pydantic import JsonValue

from odradek.verifiers.libraries import needed
from odradek_schemas.base import JsonObject

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^`]*$")
_MOST_PROBLEMS = 20
_DEEPEST = 64


class Format(StrEnum):
    JSON = "json"
    YAML = "yaml"
    XML = "xml"
    TOML = "toml"


class DocumentError(ValueError):
    """A text is no document of its format; says why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A document held against a schema: its value where it could be read, and what is wrong with it, in words."""

    value: JsonValue
    problems: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.problems


def check(text: str, form: Format, schema: JsonObject) -> Checked:
    """Read `text` and hold it against a JSON Schema (draft 2020-12, unless it names another).

    XML has no types: its texts count as the numbers, booleans, nulls and lists that the schema asks for in their place.

    Raises:
        ValueError: the schema is none.
    """
    validator = _validator(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))
    try:
        value = read(text, form)
    except DocumentError as error:
        return Checked(None, (str(error),))
    if form is Format.XML:
        value = typed(value, schema)
    return Checked(value, tuple(_problems(validator, value)))


def read(text: str, form: Format) -> JsonValue:
    """The value of a document, as JSON: dates and times are texts in ISO 8601.

    Raises:
        DocumentError: the text can't be read, or holds what JSON can't.
    """
    try:
        return _as_json(_READERS[form](text))
    except RecursionError:
        raise DocumentError(f"{form}: nested too deeply") from None


def fenced(text: str) -> str:
    """What is inside the last fenced code block of a Markdown text that closes; the whole text where there is none."""
    inside, opening, start = text, "", 0
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not opening:
            fence = _FENCE.match(line)
            opening, start = (fence[1], number + 1) if fence else ("", 0)
        elif _closes(line.strip(), opening):
            inside, opening = "\n".join(lines[start:number]), ""
    return inside


def _closes(line: str, opening: str) -> bool:
    """A fence is closed by one of its kind that is as long or longer."""
    return line.startswith(opening) and not line.strip(opening[0])


def typed(value: JsonValue, schema: JsonValue) -> JsonValue:
    """`value` with its texts as what `schema` asks for at their place, where they can be read so.

    Looks at `type`, `properties`, `additionalProperties` and `items`; references and alternatives are left alone.
    """
    if not isinstance(schema, dict):
        return value
    wanted = schema.get("type")
    if wanted == "array":
        items = value if isinstance(value, list) else [] if value is None else [value]
        return [typed(item, schema.get("items")) for item in items]
    if isinstance(value, dict):
        known, other = schema.get("properties"), schema.get("additionalProperties")
        inner = known if isinstance(known, dict) else {}
        return {name: typed(entry, inner.get(name, other)) for name, entry in value.items()}
    if wanted == "string":
        return "" if value is None else value
    return _scalar(value, wanted) if isinstance(value, str) else value


def _scalar(text: str, wanted: JsonValue) -> JsonValue:
    if wanted not in ("integer", "number", "boolean", "null"):
        return text
    try:
        value = orjson.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, str | dict | list) else value


@lru_cache(256)
def _validator(schema: bytes) -> Any:
    try:
        return jsonschema_rs.validator_for(orjson.loads(schema))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(f"not a JSON Schema: {error}") from error


def _problems(validator: Any, value: JsonValue) -> list[str]:
    problems = []
    for error in validator.iter_errors(value):
        at = ".".join(map(str, error.instance_path))
        problems.append(f"{at}: {error.message}" if at else str(error.message))
        if len(problems) == _MOST_PROBLEMS:
            break
    return problems


def _read_json(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise DocumentError(f"json: {error}") from error


def _read_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"toml: {error}") from error


def _read_yaml(text: str) -> object:
    yaml = needed("yaml", "documents")
    try:
        _check_yaml(yaml, text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(f"yaml: {error}") from error


def _check_yaml(yaml: Any, text: str) -> None:
    """Look before it is built. PyYAML's time grows with the square of the depth."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise DocumentError("yaml: aliases are not accepted")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise DocumentError("yaml: nested too deeply")


def _read_xml(text: str) -> object:
    trees = needed("defusedxml.ElementTree", "documents")
    try:
        root = trees.fromstring(text.strip(), forbid_dtd=True)
    except (trees.ParseError, ValueError) as error:
        raise DocumentError(f"xml: {error}") from error
    return {root.tag: _element(root)}


def _element(element: Any) -> object:
    """An element as a value: its text alone, or an object of `@attributes`, children and, beside them, `#text`.

    Children of one name are a list. An empty element is null.
    """
    fields: dict[str, object] = {f"@{name}": value for name, value in element.attrib.items()}
    for child in element:
        known = fields.get(child.tag)
        if child.tag not in fields:
            fields[child.tag] = _element(child)
        elif isinstance(known, list):
            known.append(_element(child))
        else:
            fields[child.tag] = [known, _element(child)]
    text = "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if not fields:
        return text or None
    return fields | ({"#text": text} if text else {})


def _as_json(value: object) -> JsonValue:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if value - value != 0:
            raise DocumentError(f"{value} is no number of JSON")
        return value
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise DocumentError(f"the key {key!r} is no text")
        return {key: _as_json(item) for key, item in value.items()}
    raise DocumentError(f"a {type(value).__name__} has no place in JSON")


_READERS: dict[Format, Callable[[str], object]] = {
    Format.JSON: _read_json,
    Format.YAML: _read_yaml,
    Format.XML: _read_xml,
    Format.TOML: _read_toml,
}
