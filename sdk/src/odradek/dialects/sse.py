"""Server-sent events: the lines in which replies are streamed.

Source: the HTML standard, "Server-sent events" (event stream format). Only `event` and `data` are used here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

DONE = "[DONE]"
"""What chat completions sends as the last event's data."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (`message` where none is given) and its data."""

    data: str
    name: str = "message"


class EventParser:
    """Turns the bytes of a stream into events, however they are cut."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that end in `chunk`."""
        lines = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            event = self._take(line.decode(errors="replace"))
            if event is not None:
                yield event

    def _take(self, line: str) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        return None

    def _dispatch(self) -> ServerEvent | None:
        data, self._data = self._data, []
        name, self._name = self._name, ""
        return ServerEvent("\n".join(data), name or "message") if data else None


def write_event(data: bytes, name: str | None = None) -> bytes:
    """One event as it goes over the wire; `data` is JSON, and so on one line."""
    head = b"event: %b\n" % name.encode() if name else b""
    return b"%bdata: %b\n\n" % (head, data)
