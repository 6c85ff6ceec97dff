"""Anthropic Messages."""

from odradek.dialects.messages.replies import read_reply, write_reply
from odradek.dialects.messages.requests import read_request, write_request
from odradek.dialects.messages.streams import StreamReader, StreamWriter

__all__ = ["StreamReader", "StreamWriter", "read_reply", "read_request", "write_reply", "write_request"]
