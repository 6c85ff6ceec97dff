"""What every kind of thing can do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from odradek_ecs.names import DIGEST_TAG, OWNER_TAG
from odradek_schemas.base import JsonObject


@dataclass(frozen=True)
class Found:
    """A thing that exists: its id or ARN, the digest of the request that made it, and whose it is (None: can't tell)."""

    id: str
    digest: str | None = None
    owner: str | None = None

    @classmethod
    def tagged(cls, id: str, tags: Mapping[str, str]) -> "Found":
        """One whose tags tell. Where nobody has tagged it, the owner is a stranger."""
        return cls(id, tags.get(DIGEST_TAG), tags.get(OWNER_TAG, ""))


class Kind(Protocol):
    """One kind of thing. A digest is noted last, so that what was cut short is done again."""

    def find(self, name: str, wanted: JsonObject | None) -> Found | None:
        """The thing, if there is one."""

    def put(self, name: str, wanted: JsonObject, found: Found | None) -> str:
        """Make it, or make it as it is wanted now; returns its id."""

    def remove(self, name: str, found: Found) -> None:
        """Remove it."""
