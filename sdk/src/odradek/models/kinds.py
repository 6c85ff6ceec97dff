"""The kinds of upstream: which dialect each speaks, at which path, and how it is told the key.

Sources: the API references of OpenAI (chat completions, Responses), Azure OpenAI (the v1 API, which needs no
`api-version`) and Anthropic (Messages, version 2023-06-01); vLLM's OpenAI-compatible server.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from odradek.dialects import chat, messages, responses
from odradek.dialects.dialect import Dialect

_STREAMED: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass(frozen=True, slots=True)
class Kind:
    """How upstreams of a kind are asked. `key_header` carries `key_prefix` and the key; `streamed` asks for a stream."""

    dialect: Dialect
    path: str
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: Mapping[str, Any] = field(default_factory=lambda: _STREAMED)

    def authorization(self, key: str) -> dict[str, str]:
        """The header that carries the API key."""
        return {self.key_header: f"{self.key_prefix}{key}"}


_CHAT = "/chat/completions"

KINDS: Mapping[str, Kind] = {
    "openai": Kind(chat, _CHAT),
    "vllm": Kind(chat, _CHAT),
    "azure": Kind(chat, _CHAT, key_header="api-key", key_prefix=""),
    "responses": Kind(responses, "/responses", streamed={"stream": True}),
    "anthropic": Kind(
        messages,
        "/messages",
        key_header="x-api-key",
        key_prefix="",
        headers={"anthropic-version": "2023-06-01"},
        streamed={"stream": True},
    ),
}
"""`openai` is every server that speaks chat completions and has no kind of its own."""
