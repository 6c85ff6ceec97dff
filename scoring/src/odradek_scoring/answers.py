"""Opens what was sealed. The rollouts of one task share one sealed answer, and opening a box is dear."""

from functools import lru_cache

from odradek_runtime.sealing import Opener, SealError
from odradek_schemas.base import JsonObject

_KEPT = 1024
_LONGEST_KEPT = 16 * 1024


class Answers:
    """`opener` None: this worker has no private key, and can read only what is not sealed."""

    def __init__(self, opener: Opener | None) -> None:
        self._opener = opener
        self._kept = lru_cache(_KEPT)(self._unseal)

    def open(self, sealed: str | None) -> JsonObject | None:
        """What the box holds, None for no box. Not to be changed: others may be given the same object.

        Raises:
            SealError: the box was sealed for another key or is damaged, or there is no key.
        """
        if sealed is None:
            return None
        return self._kept(sealed) if len(sealed) <= _LONGEST_KEPT else self._unseal(sealed)

    def _unseal(self, sealed: str) -> JsonObject:
        if self._opener is None:
            raise SealError(
                "this worker has no private key to open answers with; set ODRADEK_SEALING_PRIVATE_KEY_FILE"
            )
        return self._opener.open(sealed)
