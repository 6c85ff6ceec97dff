"""Fingerprints of requests. A re-run of a harness must make requests with the same ones.

A request is made of what the journal holds (the prompt, replies, observations) and of what the harness decides. Only
the latter can differ between runs, so only that is hashed; what the journal holds is there by count.
"""

from hashlib import blake2b

from odradek_schemas.base import Model
from odradek_schemas.events import RequestPrint


def fingerprint(request_id: str, *parts: bytes) -> RequestPrint:
    """The print of request `request_id`, whose content the harness fixed as `parts` (words, numbers or JSON: no NUL)."""
    digest = blake2b(b"\0".join(parts), digest_size=8).hexdigest()
    return RequestPrint(id=request_id, fingerprint=digest)


def canonical(model: Model) -> bytes:
    """JSON that is the same before and after a round trip through the log."""
    return model.__pydantic_serializer__.to_json(model, exclude_none=True)
