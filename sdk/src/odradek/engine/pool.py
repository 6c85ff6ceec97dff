"""The messages of a trajectory in which a program played: each that it sent or got, once.

A program puts each prompt together anew, mostly of what it sent and got before, so a trajectory that repeated them would
grow with the square of its calls. An echo counts as the reply it repeats where it says the same: dialects and programs
leave reasoning out, and write arguments with other spaces.
"""

from typing import Any

import orjson

from odradek.engine.prints import canonical
from odradek_schemas.messages import Message, ToolSpec


class Pool:
    """Places in `messages` and `tools`, which it adds to."""

    def __init__(self, messages: list[Message], tools: list[ToolSpec]) -> None:
        self._messages = messages
        self._tools = tools
        self._places = {_said(message): place for place, message in reversed([*enumerate(messages)])}
        self._offers = {canonical(tool): place for place, tool in reversed([*enumerate(tools)])}

    def place(self, message: Message) -> int:
        """Where the message is; where it is new, it is put at the end."""
        key = _said(message)
        place = self._places.get(key)
        return self._put(key, message) if place is None else place

    def add(self, message: Message) -> int:
        """Put a reply at the end, also one that says what another one said. Later echoes are of this one."""
        return self._put(_said(message), message)

    def offer(self, tool: ToolSpec) -> int:
        """Where the tool is; where it is new, it is put at the end."""
        place = self._offers.setdefault(canonical(tool), len(self._tools))
        if place == len(self._tools):
            self._tools.append(tool)
        return place

    def _put(self, key: bytes, message: Message) -> int:
        place = self._places[key] = len(self._messages)
        self._messages.append(message)
        return place


def _said(message: Message) -> bytes:
    """What a message says, whatever else it carries."""
    parts: Any = message.content
    plain = not isinstance(parts, list) or all(part.get("type") == "text" for part in parts)
    content = message.text if plain else parts
    calls = [
        [call.id, call.function.name, _arguments(call.function.arguments)]
        for call in message.tool_calls or []
    ]
    return _written([message.role, content, calls, message.tool_call_id]) or canonical(message)


def _arguments(text: str) -> str:
    """Arguments as everybody would write them; what is no JSON stands for itself."""
    try:
        written = _written(orjson.loads(text or "{}"))
    except orjson.JSONDecodeError:
        return text
    return text if written is None else written.decode()


def _written(value: Any) -> bytes | None:
    """JSON; None where it is nested too deep to be written: a model may say anything."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return None
