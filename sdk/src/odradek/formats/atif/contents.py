"""Contents of messages in ATIF: text, or parts that are text or pictures, which lie elsewhere or in a data URL."""

import mimetypes
from typing import Any

from odradek_schemas.base import JsonObject

_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def write_content(content: str | list[JsonObject] | None) -> str | list[dict[str, Any]]:
    """A content in ATIF's form. What ATIF has no part for becomes its text, which may be empty."""
    if content is None or isinstance(content, str):
        return content or ""
    return [_write_part(part) for part in content]


def read_content(content: str | list[dict[str, Any]] | None) -> str | list[JsonObject]:
    """The other way. A part that is neither text nor a picture (1.8 has audio) stays as it came."""
    if content is None or isinstance(content, str):
        return content or ""
    return [_read_part(part) for part in content]


def _write_part(part: JsonObject) -> dict[str, Any]:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    kind = _media_type(url) if isinstance(url, str) else None
    if kind is not None:
        return {"type": "image", "source": {"media_type": kind, "path": url}}
    text = part.get("text")
    return {"type": "text", "text": text if isinstance(text, str) else ""}


def _read_part(part: dict[str, Any]) -> JsonObject:
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict) and isinstance(source.get("path"), str):
        return {"type": "image_url", "image_url": {"url": source["path"]}}
    return part


def _media_type(url: str) -> str | None:
    """Of a picture that ATIF knows, None of any other."""
    if url.startswith("data:"):
        found: str | None = url[len("data:") :].partition(";")[0]
    else:
        found = mimetypes.guess_type(url.partition("?")[0])[0]
    return found if found in _PICTURES else None
