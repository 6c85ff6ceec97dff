"""Whose request it is: the token that it carries, read once and remembered while it is good."""

from collections.abc import Callable
from datetime import datetime

from aiohttp import web

from odradek_model_gateway.front.refusals import BAD_TOKEN, NOT_GRANTED, Refusal
from odradek_runtime.access import Access, Signer, TrainerAccess
from odradek_schemas.events.base import now

MOST_REMEMBERED = 4096
"""Tokens whose signature need not be checked again: that costs a tenth of a call."""


class Tokens:
    """Reads requests' tokens."""

    def __init__(self, signer: Signer, clock: Callable[[], datetime] = now) -> None:
        self._signer = signer
        self._clock = clock
        self._good: dict[str, Access | TrainerAccess] = {}

    def program(self, request: web.Request) -> Access:
        """What a program's request may ask. Raises Refusal, AccessError."""
        access = self._read(request)
        if not isinstance(access, Access):
            raise Refusal(NOT_GRANTED, "this token is a trainer's: it asks no models")
        return access

    def trainer(self, request: web.Request) -> TrainerAccess:
        """That a request is a trainer's. Raises Refusal, AccessError."""
        access = self._read(request)
        if not isinstance(access, TrainerAccess):
            raise Refusal(NOT_GRANTED, "this token is a program's: it sets no policy's version")
        return access

    def _read(self, request: web.Request) -> Access | TrainerAccess:
        token = _token(request)
        access = self._good.get(token)
        if access is None or access.expires <= self._clock():
            access = self._signer.read(token)
            if len(self._good) >= MOST_REMEMBERED:
                self._good.clear()
            self._good[token] = access
        return access


def _token(request: web.Request) -> str:
    """The key as OpenAI's clients send it, or as Anthropic's do."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")
    if not token:
        raise Refusal(BAD_TOKEN, "send the token as a Bearer token, or as x-api-key")
    return token
