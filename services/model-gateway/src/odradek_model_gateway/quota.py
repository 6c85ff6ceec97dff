"""What the calls of one model count against, and how much each is taken to need before it is made."""

from pydantic_core import to_json

from odradek.models import ModelSettings
from odradek_model_gateway.limits import Ask, Charge, Limits
from odradek_schemas.events import ModelCallRequested
from odradek_schemas.messages import Usage

BYTES_PER_TOKEN = 4
FIRST_GUESS_TOKENS = 256
"""Of a reply, before any has come."""
WEIGHT = 0.1
"""Of the latest reply in the guess at the next."""


class Quota:
    """The limits of the model `name`. What names the same `limits` is charged to the same."""

    def __init__(self, name: str, settings: ModelSettings, limits: Limits) -> None:
        self.limits = limits
        self._name = name
        self._group = settings.limits or name
        self._requests, self._tokens = settings.requests_per_minute, settings.tokens_per_minute
        self._reply_tokens = float(FIRST_GUESS_TOKENS)

    def ask(self, url: str, most: int, event: ModelCallRequested) -> Ask:
        """What a call asks for at the replica of this URL, which takes `most` at once."""
        charges = []
        if self._requests is not None:
            charges.append(self._charge("requests", self._requests, 1))
        if self._tokens is not None:
            charges.append(self._charge("tokens", self._tokens, self._guess(event), guessed=True))
        return Ask(f"{self._name} {url}", most, tuple(charges))

    def used(self, ask: Ask, usage: Usage) -> None:
        """The call was answered, with these tokens; the guess stands where the upstream does not tell them."""
        if not usage.total_tokens:
            return
        ask.tokens = usage.total_tokens
        self._reply_tokens += WEIGHT * (usage.completion_tokens - self._reply_tokens)

    def _charge(self, what: str, per_minute: int, units: int, guessed: bool = False) -> Charge:
        told = f"{what}_per_minute ({per_minute}) of {self._group!r} is used up"
        return Charge(f"{self._group}/{what}", told, per_minute, units, guessed)

    def _guess(self, event: ModelCallRequested) -> int:
        asked = len(to_json(event.messages, exclude_none=True)) + len(to_json(event.tools, exclude_none=True))
        most = event.sampling.max_tokens
        reply = self._reply_tokens if most is None else min(self._reply_tokens, most)
        return asked // BYTES_PER_TOKEN + round(reply)
