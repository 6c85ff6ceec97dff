"""Keeping a secret out of what its receiver says back."""

HIDDEN = b"***"


def without(content: bytes, secret: str | None) -> bytes:
    """`content` with `secret` blotted out: a server that refuses a key may repeat it, and what it says is kept."""
    return content.replace(secret.encode(), HIDDEN) if secret else content
