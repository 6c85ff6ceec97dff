"""AWS, as far as a deployment needs it: clients that don't wait for ever, tags, and waits with a deadline."""

import hashlib
import json
import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import boto3
from botocore.config import Config as ClientConfig

from odradek_ecs.names import DIGEST_TAG, OWNER_TAG, Names
from odradek_schemas.base import JsonObject

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
LOOK_SECONDS = 3.0

_T = TypeVar("_T")


class DeployError(Exception):
    """AWS has not, refuses, or did not get ready in time. A line each: what, and what to do."""


class Aws:
    """Clients of one region, for one deployment. `pause` is what waits between two looks."""

    def __init__(self, region: str, names: Names, pause: Callable[[float], None] = time.sleep) -> None:
        self.names = names
        self.region = region
        self._pause = pause
        self.client = cache(self._client)

    def _client(self, service: str) -> Any:
        retries = {"mode": "standard", "total_max_attempts": 6}
        waits = ClientConfig(connect_timeout=CONNECT_SECONDS, read_timeout=ANSWER_SECONDS, retries=retries)
        return boto3.client(service, region_name=self.region, config=waits)

    def until(self, look: Callable[[], _T | None], seconds: float, what: str) -> _T:
        """What `look` finds, once it finds something.

        Raises:
            DeployError: it found nothing within `seconds`; `what` says what was awaited.
        """
        deadline = time.monotonic() + seconds
        while (found := look()) is None:
            if time.monotonic() > deadline:
                raise DeployError(f"{what}: not after {seconds:.0f} s")
            self._pause(LOOK_SECONDS)
        return found

    @property
    def owner(self) -> dict[str, str]:
        """The tag that everything of the deployment bears."""
        return {OWNER_TAG: self.names.deployment}


def digest(wanted: JsonObject) -> str:
    """What tells one request from another; kept as a tag of what it made."""
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:32]


def mark(wanted: JsonObject) -> dict[str, str]:
    """The tag that says what was asked for."""
    return {DIGEST_TAG: digest(wanted)}


def upper(tags: dict[str, str]) -> list[dict[str, str]]:
    """Tags as EC2, IAM and Cloud Map spell them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def lower(tags: dict[str, str]) -> list[dict[str, str]]:
    """Tags as ECS spells them."""
    return [{"key": key, "value": value} for key, value in tags.items()]


def read_tags(tags: list[dict[str, str]]) -> dict[str, str]:
    """Tags of either spelling."""
    return {tag.get("Key") or tag["key"]: tag.get("Value") or tag.get("value", "") for tag in tags}
