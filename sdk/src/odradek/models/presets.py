"""What is known of providers, so that settings need not say it: `"preset": "fireworks"`.

A preset only fills in what a model's settings leave out. Sources: each provider's API reference. OpenAI and Azure
refuse fields that they do not know, reasoning among them, and pictures from tools; their reasoning models take
`max_completion_tokens` alone.
"""

from collections.abc import Mapping
from typing import Any

_AS_OPENAI_DOES = {
    "send_reasoning": False,
    "tool_pictures": "user",
    "max_tokens_field": "max_completion_tokens",
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "api_key_env": "OPENAI_API_KEY",
        **_AS_OPENAI_DOES,
    },
    "openai_responses": {
        "kind": "responses",
        "base_url": "https://api.openai.com/v1",
        "api_key_env": "OPENAI_API_KEY",
    },
    "azure": {"kind": "azure", "api_key_env": "AZURE_OPENAI_API_KEY", **_AS_OPENAI_DOES},
    "anthropic": {
        "kind": "anthropic",
        "base_url": "https://api.anthropic.com/v1",
        "api_key_env": "ANTHROPIC_API_KEY",
    },
    "fireworks": {
        "base_url": "https://api.fireworks.ai/inference/v1",
        "api_key_env": "FIREWORKS_API_KEY",
    },
    "together": {
        "base_url": "https://api.together.xyz/v1",
        "api_key_env": "TOGETHER_API_KEY",
        "send_reasoning": False,
    },
    "openrouter": {"base_url": "https://openrouter.ai/api/v1", "api_key_env": "OPENROUTER_API_KEY"},
    "vllm": {"kind": "vllm", "token_ids": True},
    "sglang": {},
    "llama_cpp": {"extra_body": {"cache_prompt": True}},
}
