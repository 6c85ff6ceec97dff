"""Pictures in tools' results, for upstreams that take them from the user alone (OpenAI's chat completions)."""

from itertools import groupby

from odradek_schemas.base import JsonObject
from odradek_schemas.messages import Message


def shown_by_user(messages: list[Message]) -> list[Message]:
    """The conversation with the pictures of each turn's results in a user's message after them, named by their call."""
    shown: list[Message] = []
    for is_result, group in groupby(messages, lambda message: message.role == "tool"):
        turn = list(group)
        shown += [_without_pictures(message) for message in turn] if is_result else turn
        pictures = [part for message in turn for part in _pictures(message)] if is_result else []
        if pictures:
            shown.append(Message(role="user", content=pictures))
    return shown


def _pictures(message: Message) -> list[JsonObject]:
    parts = message.content if isinstance(message.content, list) else []
    pictures = [part for part in parts if part.get("type") != "text"]
    told: JsonObject = {"type": "text", "text": f"What {message.tool_call_id} shows:"}
    return [told, *pictures] if pictures else []


def _without_pictures(message: Message) -> Message:
    if not _pictures(message):
        return message
    return message.model_copy(update={"content": message.text or "(shown in the next message)"})
