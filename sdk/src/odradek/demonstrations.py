"""Worked examples for prompts: a short conversation that shows a model how a task is done."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from odradek_schemas.messages import FunctionCall, Message, ToolCall

Step = tuple[str, Mapping[str, Any], Any]
"""A tool's name, its arguments, and what it returned (text, or to be written as JSON)."""


def demonstrate(question: str, steps: Iterable[Step], answer: str) -> list[Message]:
    """A user's question, one tool call after the other with its result, and the answer."""
    messages = [Message(role="user", content=question)]
    for number, (name, arguments, result) in enumerate(steps, start=1):
        call_id = f"example_{number}"
        function = FunctionCall(name=name, arguments=json.dumps(arguments))
        content = result if isinstance(result, str) else json.dumps(result)
        messages += [
            Message(role="assistant", tool_calls=[ToolCall(id=call_id, function=function)]),
            Message(role="tool", tool_call_id=call_id, content=content),
        ]
    return [*messages, Message(role="assistant", content=answer)]
