"""W3C trace context without a tracer: a rollout is a trace, each of its events a span, all derived from ids.

Source: W3C Trace Context, level 1. Deterministic, so that a re-run or a re-delivery names the same trace.
"""

from hashlib import blake2b

from odradek_schemas.events import Event


def traceparent(event: Event) -> str | None:
    """The `traceparent` of an event; None for events of no rollout."""
    if event.rollout_id is None:
        return None
    trace = blake2b(event.rollout_id.encode(), digest_size=16).hexdigest()
    span = blake2b(event.id.encode(), digest_size=8).hexdigest()
    return f"00-{trace}-{span}-01"
