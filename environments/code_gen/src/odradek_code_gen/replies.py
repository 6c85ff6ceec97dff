"""Reading a model's reply: where the program is, and whether its reasoning stayed apart from the answer."""

from collections.abc import Sequence

from odradek import Message

_FENCE = "```"
_OPENED, _CLOSED = "<think>", "</think>"


def code_block(text: str) -> str:
    """What stands between the last two lines with a code fence (LiveCodeBench's rule); empty where there are none."""
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if _FENCE in line]
    return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) > 1 else ""


def mixes_reasoning(replies: Sequence[Message]) -> bool:
    """Whether the answer holds a mark of reasoning, or the reasoning one of a kind twice."""
    answer = "".join(reply.text for reply in replies)
    reasoning = "".join(reply.reasoning_content or "" for reply in replies)
    return any(mark in answer or reasoning.count(mark) > 1 for mark in (_OPENED, _CLOSED))
