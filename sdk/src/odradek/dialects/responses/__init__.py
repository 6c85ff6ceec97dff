"""The OpenAI Responses API."""

from odradek.dialects.responses.items import read_output
from odradek.dialects.responses.replies import read_reply, write_reply
from odradek.dialects.responses.requests import read_request, write_request
from odradek.dialects.responses.streams import StreamReader, StreamWriter

__all__ = [
    "StreamReader",
    "StreamWriter",
    "read_output",
    "read_reply",
    "read_request",
    "write_reply",
    "write_request",
]
