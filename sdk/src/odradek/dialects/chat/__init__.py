"""OpenAI chat completions, also as vLLM, SGLang, llama.cpp, OpenRouter, Fireworks and Together speak it."""

from odradek.dialects.chat.replies import read_reply, write_reply
from odradek.dialects.chat.requests import read_request, write_request
from odradek.dialects.chat.streams import StreamReader, StreamWriter

__all__ = ["StreamReader", "StreamWriter", "read_reply", "read_request", "write_reply", "write_request"]
