"""Fingerprints of requests. A re-run of a harness must make requests with the same ones.

A request is made of what the journal holds (the prompt, replies, observations) and of what the harness decides. Only
the latter can differ between runs, so only that is hashed; what the journal holds is there by count.
"""

from hashlib import blake2b

from odradek_schemas.base import Model
from odradek_schemas.events import RequestPrint


def fingerprint(request_id: str, *parts: str | bytes) -> RequestPrint:
    """The print of request `request_id`, whose content the harness fixed as `parts`."""
    digest = blake2b(digest_size=8)
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return RequestPrint(id=request_id, fingerprint=digest.hexdigest())


def canonical(model: Model) -> bytes:
    """JSON that is the same before and after a round trip through the log."""
    return model.__pydantic_serializer__.to_json(model, exclude_none=True)
