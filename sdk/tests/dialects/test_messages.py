"""Anthropic Messages: what its clients go by."""

from typing import Any

import pytest

from odradek.dialects import messages
from odradek.dialects.core import Reply
from odradek.dialects.deltas import deltas_of
from odradek_schemas.messages import FunctionCall, Message, ToolCall

CALL = ToolCall(id="c1", function=FunctionCall(name="look", arguments="{}"))


@pytest.mark.parametrize(
    ("finish_reason", "calls", "told"),
    [
        ("stop", None, "end_turn"),
        ("tool_calls", [CALL], "tool_use"),
        ("stop", [CALL], "tool_use"),
        ("length", [CALL], "max_tokens"),
    ],
)
def test_a_reply_that_calls_a_tool_does_not_end_the_turn(finish_reason: str, calls: Any, told: str) -> None:
    """Caught: a server that says `stop` of a call that it was forced to make, and an agent that never makes it."""
    reply = Reply(Message(role="assistant", content="Hm.", tool_calls=calls), finish_reason)
    assert messages.write_reply(reply, "r", "m", 0)["stop_reason"] == told
    writer = messages.StreamWriter("r", "m", 0)
    events = [event for delta in deltas_of(reply) for event in writer.write(delta)]
    (end,) = [event["delta"] for event in events if event["type"] == "message_delta"]
    assert isinstance(end, dict)
    assert end["stop_reason"] == told
