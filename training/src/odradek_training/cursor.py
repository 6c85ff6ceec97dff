"""A position as one word, for clients that keep it as an event's id."""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from odradek_schemas.base import JsonObject
from odradek_training.errors import PositionDiffers

_MOST_BYTES = 8 * 2**20
"""Of a position as JSON: a cursor comes from outside."""


def to_cursor(position: JsonObject) -> str:
    """The position, packed (zlib, RFC 1950; base64url, RFC 4648)."""
    return urlsafe_b64encode(zlib.compress(json.dumps(position, separators=(",", ":")).encode())).decode()


def from_cursor(cursor: str) -> Any:
    """What `to_cursor` packed.

    Raises:
        PositionDiffers: it is not a cursor.
    """
    try:
        return json.loads(zlib.decompressobj().decompress(urlsafe_b64decode(cursor), _MOST_BYTES))
    except (ValueError, zlib.error) as error:
        raise PositionDiffers(
            "the event id is not one of this stream's: give back the last one as it came, or none"
        ) from error
